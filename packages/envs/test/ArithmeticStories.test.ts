import { assert, describe, it, layer } from "@effect/vitest"
import { Environment, Laws, ServerManager, Tokenizer } from "@atropos/core"
import { ArithmeticStories } from "@atropos/envs"
import { Effect, Layer, Schema, Stream } from "effect"

const environment = (completions: ReadonlyArray<string>) =>
  ArithmeticStories.layer({ groupSize: completions.length, seed: 7 }).pipe(
    Layer.provide(ServerManager.layerScripted(completions)),
    Layer.provide(Tokenizer.layerBytes)
  )

const answerOf = (index: number) => ArithmeticStories.story({ seed: 7, index, difficulty: 2, largestNumber: 20 }).answer

layer(
  environment([
    `I get ${answerOf(0)}.`,
    `\\boxed{${answerOf(0)}}`,
    `${answerOf(0)}, no: \\boxed{${answerOf(0) + 1}}`,
    "?"
  ])
)("ArithmeticStories", (it) => {
  it.effect("rewards the number an answer ends with, a boxed one first", () =>
    Effect.gen(function* () {
      const { groups } = yield* Environment.Environment
      const [group] = yield* groups.pipe(Stream.take(1), Stream.runCollect)
      assert.deepStrictEqual(Array.from(group!.scores), [1, 1, 0, 0])
      assert.strictEqual(group!.tokens.length, 4)
      assert.strictEqual(group!.inferenceLogprobs?.length, 4)
    })
  )

  it.effect("gives the same items from any cursor on", () =>
    Effect.gen(function* () {
      const { work } = yield* Environment.Environment
      const labels = (cursor: number, count: number) =>
        work(cursor).pipe(
          Stream.take(count),
          Stream.map(({ label }) => label),
          Stream.runCollect
        )
      assert.deepStrictEqual((yield* labels(0, 8)).slice(5), yield* labels(5, 3))
    })
  )
})

const settings = { seed: Schema.Natural, index: Schema.Natural, difficulty: Schema.Literals([1, 2, 5, 8]) }

describe("ArithmeticStories.story", () => {
  it.prop(
    "answers are natural numbers, and the question ends in the asked quantity",
    [Schema.Struct(settings)],
    ([given]) => {
      const { answer, question } = ArithmeticStories.story({ ...given, largestNumber: 20 })
      assert.isTrue(Number.isSafeInteger(answer) && answer >= 0)
      assert.match(question, /How many \w+ does \w+ have now\?$/)
    }
  )

  it.prop("retelling the story step by step gives its answer", [Schema.Struct(settings)], ([given]) => {
    const { answer, question } = ArithmeticStories.story({ ...given, largestNumber: 20 })
    assert.strictEqual(retell(question), answer)
  })

  it.effect.prop("scores follow the laws of scoring", [Laws.arbitraryGroup(), Schema.Natural], ([group, index]) => {
    const item = ArithmeticStories.story({ seed: 1, index, difficulty: 1, largestNumber: 9 })
    const score = (trajectories: typeof group) =>
      Effect.succeed(
        trajectories.map(({ completion }) => (ArithmeticStories.parseAnswer(completion) === item.answer ? 1 : 0))
      )
    return Effect.all([
      Laws.permutation(score, group, Array.from(group.keys()).toReversed()),
      Laws.inRange(score, group, [0, 1])
    ])
  })
})

describe("ArithmeticStories.parseAnswer", () => {
  const cases: ReadonlyArray<readonly [completion: string, answer: number | undefined]> = [
    ["\\boxed{1,200}", 1200],
    ["\\boxed{ -4 }", -4],
    ["\\boxed{24.0}", 24],
    ["The answer is: $24", 24],
    // 24.5 is neither 24 nor 5.
    ["\\boxed{24.5}", 24.5],
    ["The answer is 24.5", 24.5],
    ["It was 3, so 24.5", 24.5],
    // No digits are no number, and not zero.
    ["\\boxed{,}", undefined],
    ["The answer is , well", undefined],
    ["?", undefined],
    ["\\boxed{24 apples}. She had 12 at first.", 24],
    ["\\boxed{\\text{24}} It was surely not 25.", 24],
    ["\\boxed{24 or 25}", undefined],
    ["<think>\\boxed{24}</think>The answer is 25.", 25],
    ["<think>I get 24.</think>", undefined],
    ["<think>I get 24.", undefined],
    ["The answer is not 24.", undefined],
    ["It is not 24.", undefined],
    ["It can't be 24.", undefined],
    ["It is anything but 24.", undefined],
    ["24 is wrong.", undefined],
    ["I don't think the answer is 24.", undefined],
    ["Is the answer 24?", undefined],
    ["The answer is 24 or 25.", undefined],
    ["It is 23 or 24.", undefined],
    // What it is not is no second answer.
    ["The answer is 24, not 25.", 24],
    ["\\boxed{24}, not 25.", 24],
    ["She did not buy any. The answer is 24.", 24],
    ["It is not hard. I get 24.", 24]
  ]
  for (const [completion, answer] of cases) {
    it(`reads ${JSON.stringify(completion)} as ${answer ?? "no number"}`, () =>
      assert.strictEqual(ArithmeticStories.parseAnswer(completion), answer))
  }
})

/** Reads the sentences back, independently of how they were made. */
const retell = (question: string): number =>
  question.split(". ").reduce((total, sentence) => {
    const numbers = Array.from(sentence.matchAll(/\d+/g), Number)
    if (sentence.includes("buys")) return total + numbers[0]! * numbers[1]!
    if (sentence.includes("gives away")) return total - numbers[0]!
    if (sentence.includes("finds")) return total + numbers[0]!
    if (sentence.includes("as many")) return total * 2
    return sentence.includes("How many") ? total : numbers[0]!
  }, 0)
