/** Which sequences of a step are recorded with the trainer's logprobs, and what of them. */
import { assert, describe, it } from "@effect/vitest"
import { type ScoredGroup, Trajectory } from "@atropos/core"
import { Result } from "effect"
import * as LogprobSample from "../../src/learn/LogprobSample.ts"
import * as TrainingSequence from "../../src/learn/TrainingSequence.ts"
import * as WeightedBatch from "../../src/learn/WeightedBatch.ts"
import * as Preset from "../../src/loss/Preset.ts"
import * as GroupOrder from "../../src/run/GroupOrder.ts"

const objective = Result.getOrThrow(Preset.resolve({ preset: "dr-grpo" }))

/** A group of sequences of `length` tokens, two of them a prompt; the sampler found each token 0.5 nats likely. */
const group = (sequences: number, length: number, first: number): ScoredGroup.ScoredGroup => {
  const tokens = Array.from({ length: sequences }, (_, i) => Int32Array.from({ length }, (_, t) => first + i + t))
  return {
    tokens,
    masks: tokens.map(() => Trajectory.maskFrom(2, length)),
    scores: Float64Array.from(tokens, (_, i) => i),
    inferenceLogprobs: tokens.map(() => new Float32Array(length).fill(-0.5).fill(Trajectory.notSampled, 0, 2))
  }
}

/** What is recorded where the trainer differs by `difference` of a sequence. */
const recorded = (
  groups: ReadonlyArray<ScoredGroup.ScoredGroup>,
  maxTokens: number,
  difference: (tokens: Int32Array) => number
) => {
  const { sequences } = TrainingSequence.ofGroups(GroupOrder.canonical(groups), objective)
  const { batch } = WeightedBatch.choose(sequences, objective, { maxLength: 100, vocabSize: 1000 })
  const sample = LogprobSample.make(groups, batch, maxTokens)
  // Engines show items in any order, and use their array again.
  const shown = new Float32Array(100)
  for (const [item, { length, sequence }] of [...batch.items.entries()].toReversed()) {
    shown.fill(0).fill(-0.5 + difference(sequences[sequence]!.tokens), 1, length)
    sample.add(item, shown.subarray(0, length))
  }
  return sample.rows()
}

describe("LogprobSample", () => {
  it("records all of a small batch, under the places that its sequences were claimed at", () => {
    const groups = [group(2, 6, 50), group(3, 4, 10)]
    const rows = recorded(groups, 1000, (tokens) => -tokens[0]! / 100)
    assert.sameDeepMembers(
      rows.map(({ from, group, logprobs, sequence }) => [
        group,
        sequence,
        from,
        [...logprobs].map((x) => x.toFixed(2))
      ]),
      [
        [0, 0, 2, ["-1.00", "-1.00", "-1.00", "-1.00"]],
        [0, 1, 2, ["-1.01", "-1.01", "-1.01", "-1.01"]],
        [1, 0, 2, ["-0.60", "-0.60"]],
        [1, 1, 2, ["-0.61", "-0.61"]],
        [1, 2, 2, ["-0.62", "-0.62"]]
      ]
    )
  })

  it("records of a large one those that differ most, some of the others, and no more tokens than it may", () => {
    const groups = Array.from({ length: 8 }, (_, i) => group(4, 12, 20 * i))
    const rows = recorded(groups, 100, (tokens) => (tokens[0] === 61 || tokens[0] === 82 ? 1 : 0.01))
    const tokens = rows.map(({ logprobs }) => logprobs.length)
    assert.strictEqual(
      tokens.reduce((a, b) => a + b),
      100
    )
    assert.deepStrictEqual(
      rows.slice(0, 2).map(({ group, sequence }) => [group, sequence]),
      [
        [3, 1],
        [4, 2]
      ]
    )
    // Half of it is of others, from all over the batch.
    const others = new Set(rows.slice(5).map(({ group }) => group))
    assert.isAtLeast(others.size, 4)
    assert.strictEqual(new Set(rows.map(({ group, sequence }) => `${group} ${sequence}`)).size, rows.length)
  })

  it("leaves out what has no logprobs of the sampler, and marks tokens that are not trained", () => {
    const { inferenceLogprobs: _, ...unknown } = group(2, 6, 10)
    const gap = { ...group(2, 6, 50), masks: [Uint8Array.of(0, 0, 1, 0, 1, 0), Uint8Array.of(0, 0, 0, 0, 0, 0)] }
    const rows = recorded([unknown, gap], 1000, () => 0)
    assert.deepStrictEqual(
      rows.map(({ from, group, logprobs, sequence }) => [group, sequence, from, [...logprobs]]),
      [[1, 0, 2, [-0.5, Number.NaN, -0.5]]]
    )
  })
})
