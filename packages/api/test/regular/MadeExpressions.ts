/**
 * Loads the modules given, does what makes their functions make regular expressions, and prints all that were made:
 * file, line, source, flags. A process of its own, for modules are loaded once.
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
const { Rewards, Thinking } = await import("@atropos/core")
const Normalise = await import("../../../core/src/verify/math/Normalise.ts")
const Checkers = await import("../../../envs/src/instructions/Checkers.ts")
const Counting = await import("../../../envs/src/instructions/Counting.ts")
const Prediction = await import("../../../envs/src/markets/Prediction.ts")

const checkers = await Effect.runPromise(Checkers.load)
const check = (args: { readonly func_name: string; readonly [name: string]: unknown }) =>
  Result.getOrThrow(Checkers.decode(checkers, args)).isMet("a\n\nP. S. b")
Thinking.taggedAnswer("<think>a</think><answer>b</answer>")
Thinking.validate("<think>a</think><answer>b</answer>")
Thinking.answer("<think>a</think><answer>b</answer>")
Thinking.inside("<think>a</think>")
Normalise.isWithinLimits("1")
Counting.occurrences("a b", "a b")
Prediction.predictionOf("price", "The price will be: raised and the magnitude will be: 1%")
check({ func_name: "verify_postscript", postscript_marker: "P. S." })
for (const splitter of ["Section", "###"]) {
  check({ func_name: "validate_sections", N: 1, section_splitter: splitter })
}
Rewards.chandasMeter()
console.log(JSON.stringify(made))
