/**
 * Loads the given modules, runs the functions that create regular expressions, and prints all of them: file, line,
 * source, flags. A separate process, since modules are loaded once.
 */
import { isAbsolute } from "node:path"
import { fileURLToPath } from "node:url"

export interface Made {
  readonly file: string
  readonly line: number
  readonly source: string
  readonly flags: string
}

const made: Array<Made> = []

const note = ({ flags, source }: RegExp): void => {
  const frames = (new Error("who").stack ?? "").split("\n").slice(3, 4)
  const [, place = "", line = ""] = /\(?((?:file:\/\/)?\/[^():]+):(\d+):\d+\)?$/.exec(frames[0] ?? "") ?? []
  if (place !== "")
    made.push({ file: isAbsolute(place) ? place : fileURLToPath(place), line: Number(line), source, flags })
}

const Original = RegExp
Error.stackTraceLimit = 10
globalThis.RegExp = new Proxy(Original, {
  construct: (target, given) => {
    const expression = new target(given[0] as string, given[1] as string | undefined)
    note(expression)
    return expression
  },
  apply: (target, _, given) => {
    const expression = target(given[0] as string, given[1] as string | undefined)
    note(expression)
    return expression
  }
})

for (const file of process.argv.slice(2)) await import(file)

const { Effect, Result } = await import("effect")
const { Rewards, Thinking } = await import("../../../envs/src/index.ts")
const TypeScriptSource = await import("../../../cli/src/config/TypeScriptSource.ts")
const PreTokenizers = await import("../../../core/src/inference/tokenizer/PreTokenizers.ts")
const Normalise = await import("../../../envs/src/verify/math/Normalise.ts")
const Parameters = await import("../../../envs/src/verify/math/Parameters.ts")
const Checkers = await import("../../../envs/src/instructions/Checkers.ts")
const Counting = await import("../../../envs/src/instructions/Counting.ts")
const Prediction = await import("../../../envs/src/markets/Prediction.ts")
const { readdirSync, readFileSync } = await import("node:fs")
const { parse } = await import("yaml")
const { Schema } = await import("effect")
const Item = await import("../../../envs/src/suite/Item.ts")
const MadeColumns = await import("../../../envs/src/suite/MadeColumns.ts")
const Reading = await import("../../../envs/src/suite/Reading.ts")
const Row = await import("../../../envs/src/suite/Row.ts")
const { Suite } = await import("../../../envs/src/suite/Spec.ts")
const TextScores = await import("../../../envs/src/suite/TextScores.ts")
const Ifeval = await import("../../../envs/src/suite/ifeval/Ifeval.ts")

const checkers = await Effect.runPromise(Checkers.load)
const check = (args: { readonly func_name: string; readonly [name: string]: unknown }) =>
  Result.getOrThrow(Checkers.decode(checkers, args)).isMet("a\n\nP. S. b")
Thinking.taggedAnswer("<think>a</think><answer>b</answer>")
Thinking.validate("<think>a</think><answer>b</answer>")
Thinking.answer("<think>a</think><answer>b</answer>")
Thinking.inside("<think>a</think>")
Normalise.isWithinLimits("1")
Parameters.without("2k\\pi, k \\in \\mathbb{Z}", "2n\\pi, n \\in \\mathbb{Z}")
Counting.occurrences("a b", "a b")
Prediction.predictionOf("price", "The price will be: raised and the magnitude will be: 1%")
check({ func_name: "verify_postscript", postscript_marker: "P. S." })
for (const splitter of ["Section", "###"]) {
  check({ func_name: "validate_sections", N: 1, section_splitter: splitter })
}
Rewards.chandasMeter()

// The patterns of all shipped suites.
const suites = new URL("../../../cli/suites/", import.meta.url)
for (const file of readdirSync(suites)) {
  const suite = Schema.decodeUnknownSync(Suite)(parse(readFileSync(new URL(file, suites), "utf8")))
  for (const { steps } of Object.values(suite.columns ?? {})) {
    MadeColumns.add({ x: "" }, { made: { of: "{x}", ...(steps !== undefined && { steps }) } })
  }
  for (const score of Object.values(suite.score)) {
    // Tries all patterns: the first does not match this text.
    if ("read" in score && score.read !== undefined) Reading.read("?", score.read)
    if (score.by === "patterns") TextScores.byPatterns("phrase", score)
  }
  if (suite.choices !== undefined)
    Row.choicesOf({ choices: ["a", "b"], gold: 0 }, { ...suite.choices, from: "choices", answer: "gold" })
}
Row.goldOf({ answer: "1" }, { from: "answer", pattern: "\\d" })
const shots = { count: 1, question: "?", answer: "A: 1", without: "^A: ", as: "text" } as const
Item.shotOf({}, Schema.decodeUnknownSync(Suite)(parse(readFileSync(new URL("ifeval.yaml", suites), "utf8"))), shots)
const instructions = { instruction_id_list: ["keywords:existence", "detectable_format:multiple_sections"] }
const kwargs = [{ keywords: ["a", "+"] }, { section_spliter: "Section", num_sections: 1 }]
Ifeval.instructionsOf({ ...instructions, kwargs }, () => undefined)
const Languages = await import("../../../envs/src/regex/Languages.ts")
const { SeededRandom } = await import("@atropos/core")
const random = SeededRandom.seeded(1, 0)
for (let language = 0; language < 40; language++) Languages.texts(Languages.draw(random), random, 1)
TypeScriptSource.moduleOf("import { a } from 'b'\nrequire(__filename, __dirname, a)", "/a.ts", "file:///a.ts")
for (const type of ["Metaspace", "Punctuation", "Whitespace", "BertPreTokenizer"]) {
  PreTokenizers.cutOf({ type }, undefined)?.("a b", true)
}
console.log(JSON.stringify(made))
