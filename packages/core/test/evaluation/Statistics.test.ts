import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Evaluation from "../../src/evaluation/Statistics.ts"
import * as SeededRandom from "../../src/base/SeededRandom.ts"

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
    const { lower, upper } = Evaluation.confidenceInterval(values)!
    assert.closeTo((lower + upper) / 2, 5, 1e-12)
    // Student's quantile for 7 degrees of freedom.
    assert.closeTo(upper - lower, 2 * 2.364624 * Math.sqrt(32 / 7 / 8), 3e-3)
    for (const [freedom, t] of [
      [1, 12.7062],
      [2, 4.3027],
      [3, 3.1824],
      [10, 2.2281],
      [100, 1.984]
    ] as const) {
      assert.closeTo(Evaluation.studentT95(freedom) / t, 1, 0.01)
    }
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
    assert.isUndefined(Evaluation.confidenceInterval([3]))
    assert.isUndefined(Evaluation.share(Evaluation.sharesOf([1], 8)).stderr)
  })

  it("of scores from 0 to 1 stays between 0 and 1, and has a width where all are alike", () => {
    const one = Array.from({ length: 64 }, (_, item) => (item === 0 ? 1 : 0))
    assert.isBelow(Evaluation.confidenceInterval(one)!.lower, 0)
    assert.deepStrictEqual(Evaluation.scoreInterval(one, 64), Evaluation.wilson(1, 64))
    assert.isAbove(Evaluation.scoreInterval([0, 0], 2)!.upper, 0.5)
    assert.deepStrictEqual(Evaluation.scoreInterval([-1, 1], 2), Evaluation.confidenceInterval([-1, 1]))
    assert.isUndefined(Evaluation.scoreInterval([1], 1))
  })
})

/** pass@k of items with so many right samples of 8. */
const passing = (items: ReadonlyArray<number>, k: number) =>
  Evaluation.share(
    Evaluation.sharesOf(
      items.map((right) => Evaluation.passAtK(8, right, k)),
      items.length * Math.floor(8 / k)
    )
  )
const width = ({ interval }: Evaluation.Share) => interval.upper - interval.lower

describe("Evaluation.share", () => {
  /** Of each item, how many of 8 samples are right. */
  const Items = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 8 }))).check(
    Schema.isBetweenLength(1, 30)
  )
  const K = Schema.Literals([1, 2, 4, 8])

  it.prop(
    "lies in an interval that is never of no width, for a share and for pass@k alike",
    [Items, K],
    ([items, k]) => {
      const { interval, value } = passing(items, k)
      assert.isTrue(0 <= interval.lower && interval.lower <= value && value <= interval.upper && interval.upper <= 1)
      assert.isAbove(interval.upper - interval.lower, 0.01)
      // Nothing and everything solved are as uncertain as their few items.
      for (const [right, bound] of [
        [0, "upper"],
        [8, "lower"]
      ] as const) {
        const alike = passing(
          items.map(() => right),
          k
        )
        assert.deepStrictEqual(alike.interval, Evaluation.wilson(right === 0 ? 0 : items.length, items.length))
        assert.isAbove(Math.abs(alike.interval[bound] - alike.value), 0.1)
      }
    }
  )

  it.prop("narrows as there are more items of the same kind", [Items, K], ([items, k]) => {
    const widths = [1, 2, 4, 8, 64].map((times) => width(passing(Array.from({ length: times }, () => items).flat(), k)))
    for (const [index, one] of widths.slice(1).entries()) assert.isBelow(one, widths[index]!)
  })

  it.prop(
    "is no narrower than if every sample were an item, and no wider than if only items counted",
    [Items],
    ([items]) => {
      const rate = items.reduce((sum, right) => sum + right / 8, 0)
      const wide = Evaluation.wilson(rate, items.length)
      const narrow = Evaluation.wilson(8 * rate, 8 * items.length)
      const found = width(passing(items, 1))
      assert.isAtMost(found, wide.upper - wide.lower + 1e-9)
      assert.isAtLeast(found, narrow.upper - narrow.lower - 1e-9)
    }
  )

  it("holds what is true in 95 of 100 evaluations, also of few items whose samples are alike", () => {
    const random = SeededRandom.seeded(7, 0)
    const held = (items: number, samples: number, spread: number): number => {
      let count = 0
      for (let trial = 0; trial < 2000; trial++) {
        const rates = Array.from({ length: items }, () => {
          const rate = random.chance(0.7) ? 0.7 + 0.3 * spread : 0.7 - 0.7 * spread
          return Array.from({ length: samples }, () => random.chance(rate)).filter(Boolean).length
        })
        const { interval } = Evaluation.share(
          Evaluation.sharesOf(
            rates.map((right) => right / samples),
            items * samples
          )
        )
        if (interval.lower <= 0.7 && 0.7 <= interval.upper) count++
      }
      return count / 2000
    }
    for (const [items, samples, spread] of [
      [5, 8, 1],
      [20, 4, 0.5],
      [20, 8, 0],
      [100, 8, 1]
    ] as const) {
      assert.isAbove(held(items, samples, spread), 0.93, `${items} items of ${samples}`)
    }
  })
})
