import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as Selection from "../../src/sets/Selection.ts"

const candidatesOf = (scores: ReadonlyArray<number>) => scores.map((score, index) => ({ index, score }))
const index = ({ index }: Selection.Candidate) => Result.succeed(index)
const both = (chosen: Selection.Candidate, rejected: Selection.Candidate) =>
  Result.succeed([chosen.index, rejected.index])

const exceptFirst = ({ index }: Selection.Candidate) =>
  index === 0 ? Result.fail<"duplicate">("duplicate") : Result.succeed(index)

const best = (
  scores: ReadonlyArray<number>,
  options: Partial<Selection.BestOptions<Selection.Candidate, number, never>> = {}
) =>
  Selection.best(candidatesOf(scores), {
    allowNegativeScores: false,
    minimumDifference: 0,
    lowest: Math.min(...scores),
    max: 3,
    make: index,
    ...options
  })

const pairs = (
  scores: ReadonlyArray<number>,
  options: Partial<Selection.PairOptions<Selection.Candidate, Array<number>, string>> = {}
) =>
  Selection.pairs<Selection.Candidate, Array<number>, string>(candidatesOf(scores), {
    allowNegativeScores: false,
    minimumDifference: 0.5,
    max: 3,
    choose: () => 0,
    make: both,
    ...options
  })

describe("Selection.best", () => {
  it("takes the best above 0, the earlier one of equals first", () => {
    const { dropped, made } = best([0, 1, -1, 0.5, 1, 0.2])
    assert.deepStrictEqual(made, [1, 4, 3])
    assert.deepStrictEqual(dropped, ["beyond_top_n", "score_not_positive", "score_not_positive"])
  })
  it("takes scores of 0 and less where they are allowed", () => {
    assert.deepStrictEqual(best([-1, -3, 0], { allowNegativeScores: true, max: 2 }).made, [2, 0])
  })
  it("wants more than the minimum above the group's lowest, and ignores a minimum of 0", () => {
    assert.deepStrictEqual(best([1, 0.5, 0], { minimumDifference: 0.5 }).made, [0])
    assert.deepStrictEqual(best([1, 1], { minimumDifference: 0 }).made, [0, 1])
  })
  it("gives the place of one that cannot be made to the next", () => {
    const { dropped, made } = Selection.best(candidatesOf([3, 2, 1]), {
      allowNegativeScores: false,
      minimumDifference: 0,
      lowest: 1,
      max: 1,
      make: exceptFirst
    })
    assert.deepStrictEqual(made, [1])
    assert.deepStrictEqual(dropped, ["duplicate", "beyond_top_n"])
  })
})

describe("Selection.pairs", () => {
  it("gives each of the best one of the worst that is lower by more than the minimum", () => {
    // The worst three are -1, 0 and 0.5. The best takes the first of them that is free; for 0.5 none below 0 is left.
    assert.deepStrictEqual(pairs([1, 0.5, 0, -1]).made, [[0, 3]])
    assert.deepStrictEqual(pairs([1, 0.8, 0, -1]).made, [
      [0, 3],
      [1, 2]
    ])
  })
  it("counts the sequences that find no worse one, are not positive, or are beyond the number", () => {
    assert.deepStrictEqual(pairs([1, 0.9, 0.8, 0.7]), {
      made: [],
      dropped: ["no_worse_sequence", "no_worse_sequence", "no_worse_sequence", "beyond_n_pairs"]
    })
    assert.deepStrictEqual(pairs([1, 0], { minimumDifference: 0 }), { made: [[0, 1]], dropped: ["score_not_positive"] })
  })
  it("tells why where the worse ones are there and make no pair", () => {
    const { dropped, made } = pairs([1, -1, -1], { make: () => Result.fail("prompts_differ") })
    assert.deepStrictEqual(made, [])
    assert.deepStrictEqual(dropped, ["prompts_differ", "score_not_positive", "score_not_positive"])
  })

  const Score = Schema.Int.check(Schema.isBetween({ minimum: -3, maximum: 3 }))
  it.prop(
    "pairs a better with a worse sequence, none of them twice in its role, at most n, and accounts for every sequence",
    [Schema.Array(Score), Schema.Natural, Schema.Natural, Schema.Boolean],
    ([scores, seed, n, allowNegativeScores]) => {
      const most = 1 + (n % 4)
      const minimumDifference = (seed % 5) / 2
      const { dropped, made } = pairs(scores, {
        max: most,
        minimumDifference,
        allowNegativeScores,
        choose: (pair, count) => (count === 0 ? 0 : (seed * 7919 + pair * 31) % count)
      })
      assert.isAtMost(made.length, most)
      assert.strictEqual(made.length + dropped.length, scores.length)
      for (const [chosen, rejected] of made) {
        assert.isAbove(scores[chosen!]! - minimumDifference, scores[rejected!]!)
        if (!allowNegativeScores) assert.isAbove(scores[chosen!]!, 0)
      }
      for (const role of [0, 1]) {
        assert.strictEqual(new Set(made.map((pair) => pair[role])).size, made.length)
      }
      // The better ones are the best of the group, the worse ones among its n worst.
      const worst = [...scores].sort((a, b) => a - b).slice(0, most)
      for (const [, rejected] of made) assert.include(worst, scores[rejected!])
      const positive = scores.filter((score) => allowNegativeScores || score > 0).sort((a, b) => b - a)
      for (const [chosen] of made) assert.include(positive.slice(0, most), scores[chosen!])
    }
  )
})
