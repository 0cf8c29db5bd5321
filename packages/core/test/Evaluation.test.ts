import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Evaluation from "../src/Evaluation.ts"

const choose = (n: number, k: number): number => {
  let value = 1
  for (let i = 1; i <= k; i++) value = (value * (n - k + i)) / i
  return value
}

describe("Evaluation", () => {
  it("has the textbook values", () => {
    const values = [2, 4, 4, 4, 5, 5, 7, 9]
    assert.strictEqual(Evaluation.mean(values), 5)
    assert.closeTo(Evaluation.standardDeviation(values), Math.sqrt(32 / 7), 1e-12)
    assert.closeTo(Evaluation.standardError(values), Math.sqrt(32 / 7 / 8), 1e-12)
    const { lower, upper } = Evaluation.confidenceInterval(values)
    assert.closeTo((lower + upper) / 2, 5, 1e-12)
    assert.closeTo(upper - lower, 2 * 1.959964 * Math.sqrt(32 / 7 / 8), 1e-5)
  })

  it("wilson: 8 of 10 is 0.4902 to 0.9433; none and all reach the ends", () => {
    const { lower, upper } = Evaluation.wilson(8, 10)
    assert.closeTo(lower, 0.4902, 5e-5)
    assert.closeTo(upper, 0.9433, 5e-5)
    assert.strictEqual(Evaluation.wilson(0, 10).lower, 0)
    assert.closeTo(Evaluation.wilson(0, 10).upper, 0.2775, 5e-5)
    assert.strictEqual(Evaluation.wilson(10, 10).upper, 1)
    assert.deepStrictEqual(Evaluation.wilson(0, 0), { lower: 0, upper: 1 })
  })

  it.prop(
    "wilson contains the rate and lies in [0, 1]",
    [Schema.Natural.check(Schema.isLessThan(500)), Schema.Natural.check(Schema.isLessThan(500))],
    ([a, b]) => {
      const { lower, upper } = Evaluation.wilson(Math.min(a, b), Math.max(a, b, 1))
      const rate = Math.min(a, b) / Math.max(a, b, 1)
      assert.isTrue(0 <= lower && lower <= rate && rate <= upper && upper <= 1)
    }
  )

  it("pass@k equals 1 - C(m-c, k) / C(m, k)", () => {
    for (let m = 1; m <= 12; m++) {
      for (let c = 0; c <= m; c++) {
        for (let k = 1; k <= m; k++) {
          assert.closeTo(Evaluation.passAtK(m, c, k), 1 - choose(m - c, k) / choose(m, k), 1e-12)
        }
      }
    }
  })

  it("quantiles interpolate between order statistics", () => {
    assert.strictEqual(Evaluation.quantile([4, 1, 3, 2], 0.5), 2.5)
    assert.strictEqual(Evaluation.quantile([7], 0.95), 7)
    assert.closeTo(
      Evaluation.quantile(
        Array.from({ length: 101 }, (_, i) => i),
        0.95
      ),
      95,
      1e-9
    )
    assert.isNaN(Evaluation.quantile([], 0.5))
  })

  it("of too few values claims nothing", () => {
    assert.isNaN(Evaluation.mean([]))
    assert.strictEqual(Evaluation.standardError([3]), 0)
  })
})
