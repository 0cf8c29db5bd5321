import { assert, describe, it, layer } from "@effect/vitest"
import { Dataset, Environment, Laws, Message, SeededRandom, ServerManager, Tokenizer } from "@atropos/core"
import { AnswerFormat } from "@atropos/envs"
import { Effect, Layer, Option, Schema, Stream } from "effect"
import * as Growth from "../../core/test/base/Growth.ts"
import * as Balance from "../src/answer-format/Balance.ts"
import { composedNames, drawComposed } from "../src/answer-format/Items.ts"
import { formats } from "../src/answer-format/Formats.ts"
import { read } from "../src/answer-format/Reading.ts"
import { Format } from "../src/answer-format/Rule.ts"
import { exampleOf, sample } from "../src/answer-format/Written.ts"
import { claimsHold, firstScores, heldOutLabels, itemsHold, labels, lawsHold } from "./TestItems.ts"

const tables = { rows: [{ question: "What is 6 times 7?", answer: "6 · 7 = 42\n#### 42" }] }

const environment = (settings: Parameters<typeof AnswerFormat.layer>[0], script: ServerManager.Script = ["?"]) =>
  AnswerFormat.layer({ groupSize: 2, seed: 3, ...settings }).pipe(
    Layer.provide(ServerManager.layerScripted(script)),
    Layer.provide([Tokenizer.layerBytes, Dataset.layerMemory(tables)])
  )

layer(environment({}))("AnswerFormat", (it) => {
  it.effect("gives the same items from any cursor on, none of them held out", () => itemsHold)
  it.effect("holds for each of two hundred items what is claimed of it", () => claimsHold(200))
  it.effect.prop("scores follow the laws of scoring", [Laws.arbitraryGroup()], ([group]) => lawsHold(group), {
    arbitrary: { runs: 30 }
  })
  it.effect("evaluates every form", () =>
    Effect.gen(function* () {
      const names = (yield* heldOutLabels).map((label) => /\[([^\]]+)\]$/.exec(label)?.[1])
      assert.strictEqual(new Set(names).size, formats.length + composedNames.length)
    })
  )
})

const composed = composedNames.map((name, at) => drawComposed(name, SeededRandom.seeded(1, at)))
const all = [...formats, ...composed]
const ofAny = Schema.Struct({
  at: Schema.Natural,
  text: Schema.String.check(Schema.isPattern(/^[a-z]\w{0,20}( \w{1,9})?$/))
})

describe("the forms of answers", () => {
  it("are 162, each under a name of its own, all of them data", () => {
    assert.strictEqual(all.length, 162)
    assert.strictEqual(new Set(all.map(({ name }) => name)).size, all.length)
    const decode = Schema.decodeUnknownSync(Format)
    for (const format of all) assert.deepStrictEqual(decode(JSON.parse(JSON.stringify(format))), format)
  })

  it.prop("are read as they are written, alone and among words, once and not twice", [ofAny], ([{ at, text }]) => {
    const { name, rule } = all[at % all.length]!
    const answer = rule.kind === "between" && rule.inner === "letter" ? "C" : text
    const delimited = rule.kind === "between" && rule.open.includes("_") && text.includes("_")
    if (delimited || answer === "your answer") return
    const written = sample(rule, answer)
    const found = read(rule, written)
    assert.isDefined(found, `${name}: ${written}`)
    assert.strictEqual(found.answer ?? answer, answer, name)
    const isAlone = rule.kind === "json" || rule.kind === "lines"
    assert.strictEqual(read(rule, `Well\n${written}\nthat is all`) === undefined, isAlone, name)
    assert.isUndefined(read(rule, `${written}\n${written}`), name)
    assert.isUndefined(read(rule, answer), name)
    assert.isUndefined(read(rule, exampleOf(rule)), name)
  })

  it.prop("are read in any text without failing", [Schema.Natural, Schema.String], ([at, text]) => {
    const { rule } = all[at % all.length]!
    const found = read(rule, text)
    assert.isTrue(found === undefined || found.answer === undefined || found.answer.trim() !== "")
  })

  const named = (name: string) => all.find((format) => format.name === name)!.rule
  for (const [name, text, answer] of [
    ["markdown-italic", "**no**", undefined],
    ["markdown-bold", "so **42**.", "42"],
    ["markdown-bold", "**4** and **2**", undefined],
    ["square-brackets", "[[42]]", undefined],
    ["latex-boxed", String.raw`\boxed{\frac{1}{2}}`, String.raw`\frac{1}{2}`],
    ["latex-boxed", String.raw`\boxed{1`, undefined],
    ["latex-boxed-math", String.raw`$\boxed{x = {1}}$`, "x = {1}"],
    ["json", '```json\n{ "answer" : 42 }\n```', "42"],
    ["json", '{"answer": "4", "answer": "2"}', undefined],
    ["json", '{"answer": "42", "more": 1}', undefined],
    ["json", '{"answer": 2432902008176640001}', "2432902008176640001"],
    ["json-confidence", '{"answer": "42", "confidence": 1.5}', undefined],
    ["yaml", "answer: 42", "42"],
    ["yaml", "answer: what: ever", undefined],
    ["yaml", "answer:42", undefined],
    ["toml", "answer = 42", undefined],
    ["toml", 'answer="42"', "42"],
    ["double-arrow-format", ">>> 42", undefined],
    ["arrow-format", "=> 42", "42"],
    ["natural-language-answer", "The answer is: 42", "42"],
    ["natural-language-answer", "The answer is 42", undefined],
    ["markdown-code", "```\n42\n```", "42"],
    ["markdown-code", "```python\n42\n```", undefined],
    ["textarena-format", "[e]", undefined],
    ["nested-response-answer", "<response>since 6 · 7\n<answer>42</answer></response>", "42"],
    ["nested-response-answer", "<answer>42</answer><response></response>", undefined],
    ["complex-math-simple", "<FINAL_ANSWER>42</FINAL_ANSWER>", undefined]
  ] as const) {
    it(`${name}: ${JSON.stringify(text)} ${answer === undefined ? "is not it" : `says ${answer}`}`, () => {
      assert.strictEqual(read(named(name), text)?.answer, answer)
    })
  }

  it("take a megabyte of marks in linear time", () => {
    for (const { name, rule } of all) {
      assert.isTrue(
        Growth.isLinearIn(1_000_000, exampleOf(rule), (text) => read(rule, text)),
        name
      )
    }
  })
})

describe("AnswerFormat's rows", () => {
  const script = ["<think>so</think>\\boxed{42}", "<think>so</think>\\boxed{41}", "<think>so</think>42", "\\boxed{42}"]
  const rows = {
    source: "rows",
    testSource: "rows",
    answerField: "answer",
    answerAfter: "####",
    formats: ["latex-boxed"]
  }

  it.effect("score 1 for the form, whatever it says, and name what is right", () =>
    Effect.gen(function* () {
      const { groups } = yield* Environment.Environment
      const [group] = yield* groups.pipe(Stream.take(1), Stream.runCollect)
      assert.deepStrictEqual(Array.from(group!.scores), [1, 1, 0, 0])
      assert.deepStrictEqual(group!.rewards, [
        { format: 1, correct: 1 },
        { format: 1, correct: 0 },
        { format: 0, correct: 0 },
        { format: 0, correct: 0 }
      ])
    }).pipe(Effect.provide(environment({ ...rows, groupSize: 4 }, script)))
  )

  it.effect("score 1 for the right answer in the form alone, where that is asked", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* firstScores, [1, 0, 0, 0])
    }).pipe(Effect.provide(environment({ ...rows, groupSize: 4, scoring: "answer" }, script)))
  )

  it.effect("are asked in a form of the user's own", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* firstScores, [1, 0])
    }).pipe(
      Effect.provide(
        environment(
          {
            ...rows,
            formats: ["json"],
            ownFormats: [{ name: "stars", rule: { kind: "between", open: "«*", close: "*»" } }],
            seed: 5
          },
          (request) => {
            const text = "messages" in request ? request.messages.map(Message.text).join("\n") : ""
            return text.includes("«*")
              ? ["<think>so</think>«*42*»", "<think>so</think>42"]
              : ['<think>so</think>{"answer": 42}', "42"]
          }
        )
      )
    )
  )

  it("names a form that there is not", () => {
    assert.throws(() => AnswerFormat.settings.complete({ formats: ["latex-boxd"] }), /did you mean "latex-boxed"/)
  })
})

describe("equivalent ratios", () => {
  const names = ["a", "b", "c"]

  it("let a form wait until the others have come as far, round after round", () => {
    assert.deepStrictEqual(Balance.open({}, names, 2), names)
    assert.deepStrictEqual(Balance.open({ a: 2, b: 1 }, names, 2), ["b", "c"])
    assert.deepStrictEqual(Balance.open({ a: 2, b: 2, c: 2 }, names, 2), names)
    assert.deepStrictEqual(Balance.open({ a: 4, b: 2, c: 3 }, names, 2), ["b", "c"])
  })

  it.prop("never leave none", [Schema.Array(Schema.Natural), Schema.Natural], ([counts, threshold]) => {
    const given = Object.fromEntries(names.map((name, at) => [name, counts[at] ?? 0]))
    assert.isAbove(Balance.open(given, names, threshold + 1).length, 0)
  })

  it.effect("survive a restart", () =>
    Effect.gen(function* () {
      const { state } = yield* Environment.Environment
      const { restore, save } = Option.getOrThrow(state)
      yield* restore({ "latex-boxed": 1, gone: 7 })
      assert.deepStrictEqual(yield* save, { "latex-boxed": 1 })
      const after = yield* labels(0, 20)
      assert.isTrue(after.every((label) => label.endsWith("[json]")))
    }).pipe(
      Effect.provide(
        environment({ formats: ["latex-boxed", "json"], ensureEquivalentRatios: true, formatGroupThreshold: 1 })
      )
    )
  )
})
