import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Summary from "../../src/job/Summary.ts"
import * as Tally from "../../src/job/Tally.ts"

const group = (...scores: ReadonlyArray<number>): Tally.Tally =>
  Tally.ofGroup({
    scores,
    passes: scores.filter((score) => score > 0).length,
    trainedTokens: scores.length,
    tokens: 2 * scores.length
  })

const sum = (...tallies: ReadonlyArray<Tally.Tally>): Tally.Tally => tallies.reduce(Tally.add, Tally.empty)

const width = (tally: Tally.Tally) => {
  const { interval } = Tally.passRate(tally)!
  return interval.upper - interval.lower
}

const isOutside = (score: number) => score > 1

describe("Tally", () => {
  it("counts scores outside of the claimed range, in groups of any size", () => {
    const groups = [[0, 57], [1, 1, 1.5], [0.5]].map((scores) =>
      Tally.ofGroup({ scores, isOutside, trainedTokens: 1, tokens: 1 })
    )
    assert.deepStrictEqual(sum(...groups).outside, [2, 6])
    const shown = new Map(Summary.figures(sum(...groups)))
    assert.strictEqual(shown.get("out of range"), "2 of 6 scores: correct the score or scoreRange")
    assert.isFalse(new Map(Summary.figures(group(0, 1))).has("out of range"))
  })

  it("gives the mean over groups with its standard error", () => {
    // Group means 0, 1/2, 1: mean 1/2, standard deviation 1/2, over √3.
    const { stderr, value } = Tally.meanScore(sum(group(0, 0), group(1, 0), group(1, 1)))!
    assert.strictEqual(value, 0.5)
    assert.closeTo(stderr!, 0.5 / Math.sqrt(3), 1e-12)
  })

  it("widens the interval of a pass rate when the rollouts of an item are alike", () => {
    const alike = sum(
      ...Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? group(1, 1, 1, 1) : group(-1, -1, -1, -1)))
    )
    const mixed = sum(...Array.from({ length: 20 }, () => group(1, -1, 1, -1)))
    assert.strictEqual(Tally.passRate(alike)!.value, 0.5)
    assert.strictEqual(Tally.passRate(mixed)!.value, 0.5)
    assert.isAtLeast(width(alike), width(mixed))
  })

  it("gives unbiased pass@k for powers of two and the group size", () => {
    // One pass of 6: pass@k = k/6.
    const found = Tally.passAtK(group(1, 0, 0, 0, 0, 0))
    assert.deepStrictEqual(
      found.map(([k]) => k),
      [1, 2, 4, 6]
    )
    for (const [k, { value }] of found) assert.closeTo(value, k / 6, 1e-12)
  })

  it("is as unsure of pass@k as of the pass rate where nothing and where everything passes", () => {
    for (const score of [0, 1]) {
      const found = sum(group(score, score), group(score, score))
      const [one, two] = Tally.passAtK(found)
      assert.deepStrictEqual(one![1].interval, Tally.passRate(found)!.interval)
      assert.deepStrictEqual(two![1].interval, one![1].interval)
      assert.isAbove(width(found), 0.6)
    }
    assert.isUndefined(Tally.meanScore(group(1, 1))!.stderr)
  })

  it("leaves groups without a number out of the rates", () => {
    assert.isUndefined(Tally.passRate(group(Number.NaN)))
    assert.isUndefined(Tally.meanScore(Tally.empty))
  })

  it("has finite means and deviations of the largest scores, and none of larger ones", () => {
    const largest = Tally.meanScore(sum(group(3.4e38), group(-3.4e38), group(3.4e38)))
    assert.isTrue(Number.isFinite(largest?.value) && Number.isFinite(largest?.stderr))
    assert.isUndefined(Tally.meanScore(sum(group(1e308), group(-1e308))))
  })

  it.prop(
    "adds in any order and survives a checkpoint",
    [Schema.Array(Schema.Literals([0, 1, -1])).check(Schema.isMinLength(1))],
    ([scores]) => {
      const parts = scores.map((score) => group(score, 1))
      const whole = sum(...parts)
      assert.deepStrictEqual(Tally.passRate(whole), Tally.passRate(sum(...parts.toReversed())))
      const json = Schema.decodeUnknownSync(Tally.Tally)(
        JSON.parse(JSON.stringify(Schema.encodeSync(Tally.Tally)(whole)))
      )
      assert.deepStrictEqual(Tally.passAtK(json), Tally.passAtK(whole))
    }
  )
})
