import { assert, describe, it } from "@effect/vitest"
import { ScoredGroup } from "@atropos/core"
import { Schema } from "effect"
import * as Staleness from "../../src/learn/Staleness.ts"

/** A sequence i of its own tokens, scores and versions. */
const groupOf = (versions: ReadonlyArray<number | null>): ScoredGroup.ScoredGroup => ({
  tokens: versions.map((_, i) => Int32Array.of(1, i, i + 1)),
  masks: versions.map(() => Uint8Array.of(0, 1, 1)),
  scores: Float64Array.from(versions, (_, i) => i),
  inferenceLogprobs: versions.map((_, i) => Float32Array.of(NaN, -i, -i)),
  overrides: versions.map((_, i) => ({ number: i })),
  policyVersions: versions
})

const Versions = Schema.Array(
  Schema.NonEmptyArray(Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 30 }))))
)
const Age = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 }))
const version = 20

describe("Staleness", () => {
  it("keeps the batch as it is without a limit, and tells how old it was", () => {
    const groups = [groupOf([20, 18]), groupOf([null, 23])]
    const { figures, groups: kept } = Staleness.apply(groups, version, { maxStaleness: null, action: "drop" })
    assert.deepStrictEqual(kept, groups)
    // 0, 2 and, for a version ahead of the trainer's, 0.
    assert.deepStrictEqual(figures, { mean: 2 / 3, max: 2, unknown: 1, dropped: 0, masked: 0 })
  })

  it("drops old sequences with everything that is theirs, and groups that are empty then", () => {
    const { figures, groups } = Staleness.apply([groupOf([19, 10, 18]), groupOf([1, 2])], version, {
      maxStaleness: 2,
      action: "drop"
    })
    const [{ overrides, policyVersions, scores, tokens, masks, inferenceLogprobs } = groupOf([])] = groups
    assert.strictEqual(groups.length, 1)
    assert.deepStrictEqual(policyVersions, [19, 18])
    assert.deepStrictEqual([...scores], [0, 2])
    assert.deepStrictEqual(overrides, [{ number: 0 }, { number: 2 }])
    assert.deepStrictEqual(tokens, [Int32Array.of(1, 0, 1), Int32Array.of(1, 2, 3)])
    assert.deepStrictEqual(masks, [Uint8Array.of(0, 1, 1), Uint8Array.of(0, 1, 1)])
    assert.strictEqual(inferenceLogprobs?.length, 2)
    assert.deepInclude(figures, { dropped: 3, masked: 0, max: 19 })
  })

  it("drops a group of which one sequence is left: nothing to compare it with; not where its score or advantages stand alone", () => {
    const rule = { maxStaleness: 2, action: "drop" } as const
    const { figures, groups } = Staleness.apply([groupOf([19, 10, 5])], version, rule)
    assert.deepStrictEqual(groups, [])
    assert.deepInclude(figures, { dropped: 3, masked: 0 })
    const alone = (group: ScoredGroup.ScoredGroup, isAbsolute: boolean) =>
      Staleness.apply([group], version, { ...rule, isAbsolute }).groups.map(ScoredGroup.size)
    assert.deepStrictEqual(alone(groupOf([19, 10]), true), [1])
    const advantages = [0, 1].map(() => Float32Array.of(0, 1, 1))
    assert.deepStrictEqual(alone({ ...groupOf([19, 10]), advantages }, false), [1])
    // Sent as one: its environment says what its score means.
    assert.deepStrictEqual(alone(groupOf([19]), false), [1])
  })

  it("masks old sequences and keeps their scores for the baseline", () => {
    const { figures, groups } = Staleness.apply([groupOf([19, 10])], version, { maxStaleness: 2, action: "mask" })
    assert.deepStrictEqual(groups[0]!.masks, [Uint8Array.of(0, 1, 1), Uint8Array.of(0, 0, 0)])
    assert.deepStrictEqual([...groups[0]!.scores], [0, 1])
    assert.deepInclude(figures, { dropped: 0, masked: 1 })
  })

  it("masks the old tokens alone of a sequence whose weights changed while it was sampled", () => {
    const group = {
      ...groupOf([10, 10, 19]),
      versionRuns: [Int32Array.of(1, 10, 2, 19), new Int32Array(), Int32Array.of(1, 19, 2, -1)]
    }
    const rule = { maxStaleness: 2, action: "mask" } as const
    const { figures, groups } = Staleness.apply([group], version, rule)
    // An unknown version is too old.
    assert.deepStrictEqual(groups[0]!.masks, [Uint8Array.of(0, 0, 1), new Uint8Array(3), Uint8Array.of(0, 1, 0)])
    assert.deepInclude(figures, { dropped: 0, masked: 3, max: 10 })
    const dropped = Staleness.apply(
      [{ ...group, advantages: group.masks.map((mask) => Float32Array.from(mask)) }],
      21,
      {
        maxStaleness: 11,
        action: "drop"
      }
    )
    assert.deepStrictEqual(dropped.groups[0]?.versionRuns, [Int32Array.of(1, 10, 2, 19), new Int32Array()])
  })

  it("takes an unknown version for too old from the first update on, where there is a limit", () => {
    const rule = { maxStaleness: 1, action: "drop" } as const
    const sizes = (version: number, more = {}) =>
      Staleness.apply([groupOf([null, null])], version, { ...rule, ...more }).groups.map(ScoredGroup.size)
    assert.deepStrictEqual([sizes(0), sizes(1)], [[2], []])
    // Examples that no policy sampled have no version.
    assert.deepStrictEqual(sizes(1, { isUnknownStale: false }), [2])
  })

  it.prop("keeps just the sequences within the limit", [Versions, Age], ([all, limit]) => {
    const groups = all.map(groupOf)
    const { figures, groups: kept } = Staleness.apply(groups, version, {
      maxStaleness: limit,
      action: "drop",
      isAbsolute: true
    })
    const expected = all.flat().filter((sampled) => sampled !== null && version - sampled <= limit)
    assert.deepStrictEqual(
      kept.flatMap(({ policyVersions }) => policyVersions ?? []),
      expected
    )
    assert.strictEqual(figures.dropped, all.flat().length - expected.length)
    assert.strictEqual(figures.unknown, all.flat().filter((sampled) => sampled === null).length)
    assert.isTrue(kept.every((group) => ScoredGroup.size(group) > 0))
  })
})
