import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as TrainingSequence from "../../src/learn/TrainingSequence.ts"
import * as WeightedBatch from "../../src/learn/WeightedBatch.ts"
import * as Preset from "../../src/loss/Preset.ts"

const grpo = Result.getOrThrow(Preset.resolve({ preset: "grpo" }))
const kept = [[], [], [5, 7], [9]].map((ids) => Int32Array.from(ids))

/** Two answers sampled with top-k, the second of which came without the tokens that were left. */
const sequencesOf = (mode: "processed" | "tempered", more: { readonly constrained?: true } = {}) =>
  TrainingSequence.ofGroups(
    [
      {
        tokens: [Int32Array.of(1, 2, 5, 9), Int32Array.of(1, 2, 6, 9)],
        masks: [Uint8Array.of(0, 0, 1, 1), Uint8Array.of(0, 0, 1, 1)],
        scores: Float64Array.of(1, 0),
        inferenceLogprobs: [Float32Array.of(NaN, NaN, -0.5, 0), Float32Array.of(NaN, NaN, -0.5, 0)],
        refLogprobs: [new Float32Array(4), new Float32Array(4)],
        keptTokens: [kept, kept.map(() => new Int32Array())],
        generationParams: { temperature: 1, top_k: 2, logprobs_mode: mode, ...more }
      }
    ],
    grpo
  ).sequences

describe("the tokens that were left to choose from", () => {
  it("are of a training sequence if its logprobs are normalised over them, without the environment's reference", () => {
    const [first, second] = sequencesOf("processed")
    assert.deepStrictEqual([first!.keptTokens, first!.refLogprobs], [kept, undefined])
    assert.deepStrictEqual([second!.keptTokens, second!.refLogprobs], [undefined, new Float32Array(4)])
    for (const others of [sequencesOf("tempered"), sequencesOf("processed", { constrained: true })]) {
      assert.deepStrictEqual([others[0]!.keptTokens, others[0]!.refLogprobs], [undefined, new Float32Array(4)])
    }
  })

  it("are refused by an engine that cannot, and must be in the vocabulary", () => {
    const choose = (vocabSize: number) =>
      WeightedBatch.choose(sequencesOf("processed"), grpo, { maxLength: 8, vocabSize })
    assert.match(WeightedBatch.truncationProblem(choose(10).batch, "X") ?? "", /over which X cannot renormalise/)
    assert.deepStrictEqual(choose(10).report.dropped, [])
    const plain = WeightedBatch.choose(sequencesOf("tempered"), grpo, { maxLength: 8, vocabSize: 10 })
    assert.isUndefined(WeightedBatch.truncationProblem(plain.batch, "X"))
    const outside = sequencesOf("processed").map((one) => ({ ...one, keptTokens: [Int32Array.of(10)] }))
    const { report } = WeightedBatch.choose(outside, grpo, { maxLength: 8, vocabSize: 10 })
    assert.deepStrictEqual(
      report.dropped.map(({ reason }) => reason),
      ["token outside the vocabulary", "token outside the vocabulary"]
    )
  })
})
