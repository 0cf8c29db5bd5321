import { assert, describe, it } from "@effect/vitest"
import type { ScoredGroup } from "@atropos/core"
import { Result, Schema } from "effect"
import { makePreparation } from "../../src/run/TrainingStep.ts"
import * as GroupOrder from "../../src/run/GroupOrder.ts"
import * as Preset from "../../src/loss/Preset.ts"
import { uniforms } from "../loss/ToyPolicy.ts"
import * as Toy from "./ToyTraining.ts"

const { loss, trainer } = Toy.settings("unused", { maxStaleness: 3 })
const prepare = makePreparation({
  model: Toy.model,
  settings: trainer,
  objective: Result.getOrThrow(Preset.resolve(loss))
})

const shuffled = <A>(values: ReadonlyArray<A>, seed: number): ReadonlyArray<A> => {
  const uniform = uniforms(seed)
  return values
    .map((value) => ({ value, at: uniform() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ value }) => value)
}

const first = Toy.group(1)
/** One group, and others that differ from it in one thing alone. */
const alike: ReadonlyArray<ScoredGroup.ScoredGroup> = [
  first,
  { ...first, scores: first.scores.toReversed() },
  { ...first, masks: first.masks.map((mask) => mask.map((trained, t) => (t < 3 ? 0 : trained))) },
  { ...first, inferenceLogprobs: first.inferenceLogprobs!.map((row) => row.map((value) => value - 0.25)) },
  { ...first, advantages: first.tokens.map((row) => Float32Array.from(row, (token) => token / 10)) },
  { ...first, overrides: first.tokens.map((_, i) => ({ set_advantage_to_zero: i === 0 })) },
  { ...first, generationParams: { temperature: 0.5 } },
  { ...first, policyVersions: [2, 2, null, 1] }
]

describe("GroupOrder.canonical", () => {
  it.prop(
    "gives batches of the same bits whatever order the groups come in",
    [Schema.Natural, Schema.Natural],
    ([seed, order]) => {
      const groups = [...Array.from({ length: 4 }, (_, i) => Toy.group((seed % 1000) + i)), ...alike]
      const expected = prepare(GroupOrder.canonical(groups), 4)
      assert.isAbove(expected.batch.items.length, 1)
      assert.deepStrictEqual(prepare(GroupOrder.canonical(shuffled(groups, order)), 4), expected)
    },
    { arbitrary: { runs: 40 } }
  )

  it("would not without it", () => {
    const groups = [0, 1, 2, 3].map((seed) => Toy.group(seed))
    assert.notDeepEqual(prepare(groups.toReversed(), 0).batch, prepare(groups, 0).batch)
  })

  it("tells candidates of a teacher apart, padded with -Infinity or not", () => {
    const teacher = (id: number, logprob: number): ScoredGroup.ScoredGroup => ({
      ...first,
      distillTokenIds: first.tokens.map((row) => Array.from(row, () => Int32Array.of(0, id))),
      distillLogprobs: first.tokens.map((row) => Array.from(row, () => Float32Array.of(-Infinity, logprob)))
    })
    const groups = [teacher(1, -1), teacher(1, -2), teacher(2, -1)]
    assert.deepStrictEqual(GroupOrder.canonical(groups.toReversed()), GroupOrder.canonical(groups))
  })
})
