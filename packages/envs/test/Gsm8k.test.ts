import { assert, describe, it, layer } from "@effect/vitest"
import { Dataset, Environment, ServerManager, Tokenizer } from "@atropos/core"
import { Gsm8k, MathVerifier } from "@atropos/envs"
import { Effect, Layer, Option, Stream } from "effect"
import { claimsHold } from "./TestItems.ts"

const rows = [{ question: "Nine pens and nine pens?", answer: "9 + 9 = <<9+9=18>>18\n#### 1,018" }]

const environment = (completions: ReadonlyArray<string>, maxTokenLength = 2048, formReward = 0) =>
  Gsm8k.layer({
    groupSize: completions.length,
    maxTokenLength,
    formReward,
    trainSplit: "train",
    testSplit: "test"
  }).pipe(
    Layer.provide(ServerManager.layerScripted(completions)),
    Layer.provide([Tokenizer.layerBytes, MathVerifier.layer(), Dataset.layerMemory({ train: rows, test: rows })])
  )

const firstGroup = Effect.gen(function* () {
  const { groups } = yield* Environment.Environment
  const [group] = yield* groups.pipe(Stream.take(1), Stream.runCollect)
  return group!
})

layer(environment(["so \\boxed{1018}", "so \\boxed{1,018.0}", "so \\boxed{1019}", "the answer is 1018", "1018"]))(
  "Gsm8k",
  (it) => {
    it.effect("scores 1 for the boxed answer that equals the reference and -1 for the rest", () =>
      Effect.map(firstGroup, ({ scores }) => assert.deepStrictEqual(Array.from(scores), [1, 1, -1, -1, -1]))
    )

    it.effect("learns from short completions as from long ones", () =>
      Effect.map(firstGroup, (group) => assert.isFalse(group.overrides?.some((own) => "set_advantage_to_zero" in own)))
    )

    it.effect("tells whether an answer is right apart from its length", () =>
      Effect.map(firstGroup, ({ rewards }) =>
        assert.deepStrictEqual(
          rewards,
          [1, 1, 0, 0, 0].map((correct) => ({ correct, length: 0 }))
        )
      )
    )

    it.effect("evaluates the test rows one answer each", () =>
      Effect.gen(function* () {
        const { evaluation } = yield* Environment.Environment
        const [first] = yield* Option.getOrThrow(evaluation).pipe(Stream.runCollect)
        const [evaluated] = yield* first!.evaluate
        assert.strictEqual(typeof evaluated!.correct, "boolean")
        assert.strictEqual(first!.label, rows[0]!.question)
      })
    )
  }
)

const wrong = ["so \\boxed{1019}", "the answer is 1018", "I do not know", "\\boxed{"]

layer(environment(["so \\boxed{1018}", ...wrong], 2048, 0.2))("Gsm8k with form_reward", (it) => {
  it.effect("pays wrong answers for a box, and half for a number, so that groups without a right answer differ", () =>
    Effect.map(firstGroup, ({ rewards, scores }) => {
      assert.deepStrictEqual(
        Array.from(scores, (score) => Number(score.toFixed(6))),
        [1, -0.8, -0.9, -1, -1]
      )
      assert.deepStrictEqual(
        rewards?.map((one) => one["form"]),
        [undefined, 1, 0.5, 0, 0]
      )
    })
  )
})

const boxed = [
  "\\boxed{1018}. This answer is correct.",
  "\\boxed{1019} The answer is surely 1018.",
  "\\boxed{7}? No: \\boxed{1018}"
]
const unboxed = ["The answer is 1018.\n#### 1018", "<think>\\boxed{1018}</think>I am not sure.", "It is \\boxed{1018"]

layer(environment([...boxed, ...unboxed]))("Gsm8k's last box", (it) => {
  it.effect("is the answer, whatever is said after it, and there is none without one", () =>
    Effect.map(firstGroup, ({ scores }) => assert.deepStrictEqual(Array.from(scores), [1, -1, 1, -1, -1, -1]))
  )

  it.effect("is what is claimed to be right or wrong", () => claimsHold(1))
})

describe("Gsm8k", () => {
  it.effect("prefers short answers when all are right", () =>
    Effect.gen(function* () {
      const long = `${"because ".repeat(90)}\\boxed{1018}`
      const { scores } = yield* firstGroup.pipe(Effect.provide(environment(["it is \\boxed{1018}", long], 1400)))
      assert.isAbove(long.length, 700)
      assert.strictEqual(scores[0], 1)
      assert.isBelow(scores[1]!, 1)
      assert.isAtLeast(scores[1]!, 0)
    })
  )

  it.effect("does not count the prompt as a part of the answer", () =>
    Effect.gen(function* () {
      const answer = "it is \\boxed{1018}"
      const { masks, scores } = yield* firstGroup.pipe(
        Effect.provide(environment([answer, answer], 2 * answer.length + 2))
      )
      assert.isAbove(masks[0]!.indexOf(1), 2 * answer.length + 2)
      assert.deepStrictEqual([...scores], [1, 1])
    })
  )

  it("reads the reference of GSM8K's and MetaMathQA's rows, without thousands separators", () => {
    assert.strictEqual(Gsm8k.referenceAnswer(rows[0]!.answer), "1018")
    assert.strictEqual(Gsm8k.referenceAnswer("She has 1,018.\n#### 1,018\nThe answer is: 1018"), "1018")
    assert.strictEqual(Gsm8k.referenceAnswer("no number ####"), "")
  })
})
