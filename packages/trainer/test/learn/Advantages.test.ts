import { assert, describe, it } from "@effect/vitest"
import { Labels, ScoreAdvantage, type ScoredGroup } from "@atropos/core"
import { Schema } from "effect"
import * as Advantages from "../../src/learn/Advantages.ts"
import type { SequenceSettings } from "../../src/loss/SequenceSettings.ts"
import * as TrainingSequence from "../../src/learn/TrainingSequence.ts"
import padding from "../fixtures/trainer-padding.json" with { type: "json" }

const original: ScoreAdvantage.Rule = { baseline: "group", advantageScale: "population-std" }

const groupOf = (
  scores: ReadonlyArray<number>,
  more: Partial<ScoredGroup.ScoredGroup> = {}
): ScoredGroup.ScoredGroup => ({
  tokens: scores.map(() => Int32Array.of(5, 6, 7)),
  masks: scores.map(() => Uint8Array.of(0, 1, 1)),
  scores: Float64Array.from(scores),
  ...more
})

const settings: SequenceSettings = {
  ...original,
  isPolicyGradient: true,
  maskTruncated: false,
  dropConstantGroups: false,
  needsPairs: false
}
const scores = Schema.Array(Schema.Finite.check(Schema.isBetween({ minimum: -1e6, maximum: 1e6 }))).check(
  Schema.isMinLength(2),
  Schema.isMaxLength(16)
)
const sum = (numbers: Iterable<number>) => [...numbers].reduce((total, number) => total + number, 0)

describe("Advantages", () => {
  it("gives the original's advantages and temperatures", () => {
    for (const { advantages, batch, temperatures } of padding) {
      const expected = advantages.flat(2)
      const ours = batch.flatMap((group) => [...ScoreAdvantage.ofScores(Float64Array.from(group.scores), original)])
      ours.forEach((advantage, i) => assert.closeTo(advantage, expected[i]!, 1e-6))
      const temperature = batch.flatMap((group) =>
        group.scores.map((_, i) => Advantages.temperatureOf(groupOf(group.scores), i))
      )
      assert.deepStrictEqual(temperature, temperatures.flat(3))
    }
  })

  it.prop("sum to 0 in every group, with and without std, with either baseline", [scores], ([rewards]) => {
    for (const advantageScale of ["sample-std", "population-std", "none"] as const) {
      for (const baseline of ["group", "leave-one-out"] as const) {
        const ours = ScoreAdvantage.ofScores(Float64Array.from(rewards), { advantageScale, baseline })
        const size = Math.max(1, ...ours.map(Math.abs))
        assert.closeTo(sum(ours) / size, 0, 1e-6)
      }
    }
  })

  it.prop(
    "compares with the mean of the batch, and divides by its deviation, as TRL does",
    [scores, scores],
    ([a, b]) => {
      const all = [...a, ...b]
      const mean = sum(all) / all.length
      const deviation = Math.sqrt(sum(all.map((score) => (score - mean) ** 2)) / (all.length - 1)) + 1e-4
      const rule = { ...settings, baseline: "batch", advantageScale: "batch-std" } as const
      const { sequences } = TrainingSequence.ofGroups([groupOf(a), groupOf(b)], rule)
      const ofBatch = ScoreAdvantage.areEqual(all) ? all.map(() => 0) : all.map((score) => (score - mean) / deviation)
      sequences.forEach(({ advantages }, i) =>
        assert.closeTo(advantages[1]!, ofBatch[i]!, 1e-4 * (1 + Math.abs(ofBatch[i]!)))
      )
      const within = TrainingSequence.ofGroups([groupOf(a), groupOf(b)], { ...rule, baseline: "group" }).sequences
      const scaled = [...ScoreAdvantage.ofScores(a, { baseline: "group", advantageScale: "none" })]
      scaled.forEach((advantage, i) =>
        assert.closeTo(within[i]!.advantages[1]!, advantage / deviation, 1e-4 * (1 + Math.abs(advantage / deviation)))
      )
    }
  )

  it("counts a rollout once in the batch, and leaves groups out that bring advantages of their own", () => {
    const rule = { ...settings, baseline: "batch", advantageScale: "none" } as const
    const rollouts = groupOf([4, 4, 0], { overrides: [{ session: "a" }, { session: "a" }, {}] })
    const own = groupOf([100, 200], { advantages: [Float32Array.of(7), Float32Array.of(8)] })
    const { sequences } = TrainingSequence.ofGroups([rollouts, own, groupOf([2])], rule)
    assert.deepStrictEqual(
      sequences.map(({ advantages }) => advantages[1]),
      [2, 2, -2, 7, 8, 0]
    )
  })

  it("makes one pair of each group: its best sequence and its worst, the first of equals", () => {
    const nothing = { masks: [1, 0, 0, 0].map((trained) => Uint8Array.of(0, trained, trained)) }
    const groups = [
      groupOf([0, 2, 1, 2, 0]),
      groupOf([3, 3]),
      groupOf([1]),
      groupOf([5, 1, 0, 0], nothing),
      groupOf([1, 4])
    ]
    const { sequences } = TrainingSequence.ofGroups(groups, { ...settings, needsPairs: true })
    assert.deepStrictEqual(
      sequences.map(({ group, pair, score }) => [group, score, pair?.partner, pair?.preference]),
      [
        [0, 2, 1, 1],
        [0, 0, 0, -1],
        [4, 4, 3, 1],
        [4, 1, 2, -1]
      ]
    )
  })

  it.prop("a rollout of several sequences counts once, and they have its advantage", [scores], ([rewards]) => {
    const paths = rewards.flatMap((reward, session) =>
      Array.from({ length: 1 + (session % 3) }, () => ({ reward, session }))
    )
    const group = groupOf(
      paths.map(({ reward }) => reward),
      { overrides: paths.map(({ session }) => ({ session })) }
    )
    const alone = ScoreAdvantage.ofScores(rewards, original)
    const { advantages_G_T } = Advantages.ofGroup(group, original)
    paths.forEach(({ session }, i) =>
      assert.closeTo(advantages_G_T[i]![1]!, alone[session]!, 1e-6 * Math.max(1, Math.abs(alone[session]!)))
    )
  })

  it.prop("leave-one-out is the difference to the mean of the others", [scores], ([rewards]) => {
    const ours = ScoreAdvantage.ofScores(Float64Array.from(rewards), {
      baseline: "leave-one-out",
      advantageScale: "none"
    })
    const most = Math.max(...rewards.map(Math.abs))
    rewards.forEach((reward, i) => {
      const others = rewards.filter((_, j) => j !== i)
      assert.closeTo(ours[i]!, reward - sum(others) / others.length, 3e-6 * Math.max(most, 1e-300))
    })
  })

  it.prop("follow their sequences when a group is permuted", [scores], ([rewards]) => {
    const ours = ScoreAdvantage.ofScores(Float64Array.from(rewards), original)
    const reversed = ScoreAdvantage.ofScores(Float64Array.from(rewards.toReversed()), original)
    ours.forEach((advantage, i) => assert.closeTo(advantage, reversed.at(-1 - i)!, 1e-6))
  })

  it("take scores that differ by rounding as equal, and small true differences as differences", () => {
    assert.deepStrictEqual([...ScoreAdvantage.ofScores(Float64Array.of(0.1 + 0.2, 0.3), original)], [0, 0])
    const [low, high] = ScoreAdvantage.ofScores(Float64Array.of(1e-3, 2e-3), original)
    assert.closeTo(low!, -1, 1e-4)
    assert.closeTo(high!, 1, 1e-4)
  })

  it("leave a group of one its score", () => {
    assert.deepStrictEqual([...ScoreAdvantage.ofScores(Float64Array.of(0.7), original)], [0.7])
  })

  it("given per token win over scores; set_advantage_to_zero wins over both", () => {
    const group = groupOf([1, 0], {
      advantages: [Float32Array.of(0, 2, 3), Float32Array.of(0, 4, 5)],
      overrides: [{}, { set_advantage_to_zero: true }]
    })
    const { advantages_G_T, isConstant } = Advantages.ofGroup(group, original)
    assert.deepStrictEqual(
      advantages_G_T.map((row) => [...row]),
      [
        [0, 2, 3],
        [0, 0, 0]
      ]
    )
    assert.isFalse(isConstant)
  })

  it("take a sequence's temperature from its overrides, the generation's, the group's, then the usual one", () => {
    const all = {
      overrides: [{ temperature: 0.5 }, {}],
      generationParams: { temperature: 0.6 },
      groupOverrides: { temperature: 0.7 }
    }
    const { groupOverrides, overrides } = all
    const of = (more: Partial<ScoredGroup.ScoredGroup>) =>
      [0, 1].map((i) => Advantages.temperatureOf(groupOf([1, 0], more), i, 0.9))
    assert.deepStrictEqual(of(all), [0.5, 0.6])
    assert.deepStrictEqual(of({ overrides, groupOverrides }), [0.5, 0.7])
    assert.deepStrictEqual(of({ overrides }), [0.5, 0.9])
    assert.deepStrictEqual(of({ generationParams: { temperature: 0 } }), [1, 1])
  })
})

describe("TrainingSequence", () => {
  it("counts groups of equal scores, and drops them where asked", () => {
    const groups = [groupOf([1, 1]), groupOf([1, 0]), groupOf([2])]
    const kept = TrainingSequence.ofGroups(groups, settings)
    assert.strictEqual(kept.counts.constantGroups, 1)
    assert.strictEqual(kept.sequences.length, 5)
    const dropped = TrainingSequence.ofGroups(groups, { ...settings, dropConstantGroups: true })
    assert.strictEqual(dropped.counts.constantGroups, 1)
    assert.deepStrictEqual(
      dropped.sequences.map(({ group }) => group),
      [1, 1, 2]
    )
  })

  it("sees samples of the policy at their temperature, and what others wrote at the usual one", () => {
    const groups = [groupOf([1, 0], { generationParams: { temperature: 0.5 } })]
    const at = (isPolicyGradient: boolean) =>
      TrainingSequence.ofGroups(groups, { ...settings, isPolicyGradient }).sequences.map(
        ({ temperature }) => temperature
      )
    assert.deepStrictEqual(
      [at(true), at(false)],
      [
        [0.5, 0.5],
        [1, 1]
      ]
    )
  })

  it("masks sequences that ended at the token limit where asked", () => {
    const overrides = [{ finish_reason: "length" }, { truncated: true }, { finish_reason: "stop" }]
    const { counts, sequences } = TrainingSequence.ofGroups([groupOf([1, 0, 2], { overrides })], {
      ...settings,
      maskTruncated: true
    })
    assert.deepStrictEqual(
      sequences.map(({ mask }) => sum(mask)),
      [0, 0, 2]
    )
    assert.strictEqual(counts.truncatedMasked, 2)
  })

  it("reads masks of labels and masks of zeros and ones", () => {
    const labels = [
      [-100, 6, -100],
      [0, 1, 1],
      [5, 6, 7]
    ]
    const masks = labels.map((row) => Labels.toMask([5, 6, 7], row))
    const { sequences } = TrainingSequence.ofGroups([groupOf([1, 0, 2], { masks })], settings)
    assert.deepStrictEqual(
      sequences.map(({ mask }) => [...mask]),
      [
        [0, 1, 0],
        [0, 1, 1],
        [1, 1, 1]
      ]
    )
  })

  it("counts trained tokens without a sampling logprob", () => {
    const inferenceLogprobs = [Float32Array.of(NaN, -0.5, NaN), Float32Array.of(NaN, -0.5, -0.2)]
    const { counts } = TrainingSequence.ofGroups([groupOf([1, 0], { inferenceLogprobs }), groupOf([1, 0])], settings)
    assert.strictEqual(counts.unknownLogprobs, 1 + 4)
  })
})
