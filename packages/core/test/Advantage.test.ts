import { assert, describe, it } from "@effect/vitest"
import { Advantage } from "@atropos/core"
import { Result, Schema } from "effect"
import functions from "./fixtures/functions.json" with { type: "json" }

const closeTo = (actual: ReadonlyArray<number>, expected: ReadonlyArray<number>) => {
  assert.strictEqual(actual.length, expected.length)
  actual.forEach((value, index) => assert.closeTo(value, expected[index]!, 1e-5))
}

describe("Advantage", () => {
  it("replays the recorded process-supervision advantages", () => {
    for (const { advantages, gamma, rewards } of functions.advantages) {
      const result = Advantage.processSupervision(rewards, gamma === null ? {} : { discount: gamma })
      if (Array.isArray(advantages)) {
        const ours = Result.getOrThrow(result)
        ours.forEach((steps, index) => closeTo(steps, advantages[index]!))
      } else {
        assert.isTrue(Result.isFailure(result), JSON.stringify(rewards))
      }
    }
  })

  it("replays the recorded means and variances", () => {
    for (const { rewards, stats } of functions.advantages) {
      const ours = Advantage.stats(rewards)!
      closeTo([ours.mean, ours.variance], [stats.mean, stats.var])
    }
    assert.isUndefined(Advantage.stats([]))
  })

  it("replays the recorded best-of-n choices", () => {
    for (const { index, primary, primary_higher, secondary, secondary_lower } of functions.best_of_n) {
      const options = { primaryHigherIsBetter: primary_higher, secondaryLowerIsBetter: secondary_lower }
      assert.strictEqual(Advantage.bestIndex(primary, secondary, options), index)
    }
  })

  it("discounts later rewards", () => {
    assert.deepStrictEqual(
      Advantage.discountedReturns([1, 1, 1], 0.9).map((one) => Math.round(one * 1e6) / 1e6),
      [2.71, 1.9, 1]
    )
    assert.deepStrictEqual(Advantage.discountedReturns([3, 2, 1], 0), [3, 2, 1])
  })

  it("calls values close that differ by less than the tolerance, and NaN never", () => {
    assert.isTrue(Advantage.allCloseToFirst([1, 1 + 1e-7, 1]))
    assert.isFalse(Advantage.allCloseToFirst([1, 1, 1.1]))
    assert.isFalse(Advantage.allCloseToFirst([Number.NaN, Number.NaN]))
  })

  it.prop(
    "group-relative advantages sum to zero",
    [Schema.Array(Schema.Natural).check(Schema.isMinLength(1))],
    ([rewards]) => {
      const advantages = Advantage.groupRelative(rewards, { normalize: false })
      const scale = Math.max(1, ...rewards)
      assert.closeTo(advantages.reduce((sum, one) => sum + one, 0) / scale, 0, 1e-6)
    }
  )
})
