import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Line from "../../viewer/src/chart/Line.ts"

const small = Schema.Finite.check(Schema.isBetween({ minimum: -1e6, maximum: 1e6 }))
const Ys = Schema.Array(small).check(Schema.isMaxLength(400))
const weight = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 0.99 }))

const line = (ys: ReadonlyArray<number>): Line.Line => ({
  xs: Float64Array.from(ys.keys()),
  ys: Float64Array.from(ys)
})
const points = (values: ReadonlyArray<number>, steps = [...values.keys()]) => ({
  steps: Float64Array.from(steps),
  times: Float64Array.from(steps, (step) => step * 1000),
  values: Float64Array.from(values)
})

describe("Line.smooth", () => {
  it.prop("is the mean of the values so far, weighted by age", [Ys, weight], ([ys, weight]) => {
    const smoothed = Line.smooth(Float64Array.from(ys), weight)
    for (const at of ys.keys()) {
      const weights = ys.slice(0, at + 1).map((_, index) => weight ** (at - index))
      const mean = weights.reduce((sum, part, index) => sum + part * ys[index]!, 0) / weights.reduce((a, b) => a + b)
      assert.closeTo(smoothed[at]!, mean, 1e-3)
    }
  })

  it("leaves a constant as it is, from its first value on", () => {
    assert.isTrue(Line.smooth(new Float64Array(100).fill(3), 0.9).every((y) => Math.abs(y - 3) < 1e-12))
  })
})

/** Every value above a million is a hole. */
const punched = (ys: ReadonlyArray<number>) =>
  ys.map((y, at) => (y <= 1e6 ? y : at % 2 === 0 ? Number.NaN : Number.NEGATIVE_INFINITY))

describe("gaps", () => {
  const Holed = Schema.Array(Schema.Finite.check(Schema.isBetween({ minimum: -1e6, maximum: 2e6 }))).check(
    Schema.isBetweenLength(1, 300)
  )
  it.prop("stay where they are, and change no mean and no extreme", [Holed, weight], ([drawn, weight]) => {
    const ys = punched(drawn)
    const finite = ys.filter(Number.isFinite)
    const smoothed = Line.smooth(Float64Array.from(ys), weight)
    ys.forEach((y, at) => assert.strictEqual(Number.isFinite(smoothed[at]!), Number.isFinite(y)))
    const without = Line.smooth(Float64Array.from(finite), weight)
    assert.deepStrictEqual([...smoothed].filter(Number.isFinite), [...without])
    const found = Line.summary(line(ys))!
    assert.strictEqual(found.gaps, ys.length - finite.length)
    if (finite.length > 0) {
      assert.deepStrictEqual([found.min.y, found.max.y], [Math.min(...finite), Math.max(...finite)])
    }
  })

  it.prop(
    "are drawn as gaps, however many points a pixel has",
    [Holed, Schema.Literals([1, 7, 50])],
    ([given, buckets]) => {
      const ys = punched(given)
      const full = line(ys)
      const thinned = Line.thin(full, { from: 0, to: ys.length - 1, buckets, isLog: false })
      const drawn = Line.align([thinned]).ys[0]!
      assert.strictEqual(
        drawn.includes(null),
        ys.some((y) => !Number.isFinite(y))
      )
      assert.isTrue(thinned.xs.every((x, index) => index === 0 || thinned.xs[index - 1]! < x))
      const finite = ys.filter(Number.isFinite)
      const kept = drawn.filter((y) => typeof y === "number")
      if (finite.length > 0) {
        assert.deepStrictEqual([Math.min(...kept), Math.max(...kept)], [Math.min(...finite), Math.max(...finite)])
      }
    }
  )
})

describe("Line.thin", () => {
  const buckets = Schema.Literals([1, 3, 7, 20])
  it.prop(
    "keeps the extremes of every part of the axis, in their order",
    [Ys, buckets, Schema.Boolean],
    ([ys, buckets, isLog]) => {
      const [from, to] = [2, Math.max(3, ys.length - 3)]
      const thinned = Line.thin(line(ys), { from, to, buckets, isLog })
      const inside = ys.flatMap((y, x) => (x >= from && x <= to ? [{ x, y }] : []))
      if (inside.length <= 2 * buckets) {
        assert.deepStrictEqual(
          [...thinned.xs],
          [...ys.keys()].slice(Math.max(0, Math.min(from, ys.length) - 1), to + 2)
        )
        return
      }
      assert.isTrue(thinned.xs.every((x, index) => index === 0 || thinned.xs[index - 1]! < x))
      assert.isAtMost(thinned.xs.length, 2 * buckets + 2)
      const scale = isLog ? Math.log : (x: number) => x
      const place = (x: number) => ((scale(x) - scale(from)) / (scale(to) - scale(from))) * buckets
      const bucketOf = (x: number) => Math.min(buckets - 1, Math.floor(place(x) + 1e-9))
      const kept = Array.from(thinned.xs, (x, index) => ({ x, y: thinned.ys[index]! })).filter(
        ({ x }) => x > from - 1 && x < to + 1
      )
      for (let bucket = 0; bucket < buckets; bucket++) {
        const all = inside.filter(({ x }) => bucketOf(x) === bucket).map(({ y }) => y)
        const least = all.indexOf(Math.min(...all))
        const most = all.indexOf(Math.max(...all))
        assert.deepStrictEqual(
          kept.filter(({ x }) => bucketOf(x) === bucket).map(({ y }) => y),
          [...new Set([Math.min(least, most), Math.max(least, most)])].flatMap((index) =>
            all.length === 0 ? [] : [all[index]]
          )
        )
      }
    }
  )

  it("keeps one point on either side of what is drawn", () => {
    const full = line(Array.from({ length: 1000 }, (_, x) => x))
    const thinned = Line.thin(full, { from: 100.5, to: 800.5, buckets: 10, isLog: false })
    assert.strictEqual(thinned.xs[0], 100)
    assert.strictEqual(thinned.xs.at(-1), 801)
  })

  it("leaves two points a pixel of 100,000, at places that lines share", () => {
    const window = { from: 0, to: 100_000, buckets: 600, isLog: false }
    const places = [Math.sin, Math.cos].map((wave) => [
      ...Line.thin(line(Array.from({ length: 100_000 }, (_, x) => wave(x) * x)), window).xs
    ])
    assert.lengthOf(places[0]!, 1200)
    assert.deepStrictEqual(places[0], places[1])
  })
})

describe("Line.byTime", () => {
  const Times = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 50 })))
  it.prop("orders points by time and loses none", [Times], ([times]) => {
    const steps = Float64Array.from(times.keys())
    const { xs, ys } = Line.byTime({ steps, times: Float64Array.from(times), values: steps }, 10)
    assert.isTrue(xs.every((x, index) => index === 0 || xs[index - 1]! <= x))
    assert.deepStrictEqual(
      Array.from(ys, (step, index) => [step, xs[index]!]).sort(([left], [right]) => left! - right!),
      times.map((time, step) => [step, (time - 10) / 1000])
    )
  })
})

describe("Line.align", () => {
  const Xs = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: -20, maximum: 20 })))
  it.prop("puts every point of every line at its x, and nothing else", [Schema.Array(Xs)], ([sets]) => {
    const lines = sets.map((xs) => {
      const sorted = Float64Array.from(new Set(xs)).sort()
      return { xs: sorted, ys: sorted.map((x) => x * x) }
    })
    const aligned = Line.align(lines)
    assert.deepStrictEqual(
      [...aligned.xs],
      [...new Set(lines.flatMap(({ xs }) => [...xs]))].sort((a, b) => a - b)
    )
    lines.forEach(({ xs }, index) => {
      assert.deepStrictEqual(
        aligned.ys[index],
        Array.from(aligned.xs, (x) => (xs.includes(x) ? x * x : undefined))
      )
    })
  })
})

describe("Line.nearest", () => {
  it.prop("finds no point farther away than another", [Ys, small], ([values, x]) => {
    const xs = Float64Array.from(new Set(values)).sort()
    const found = Line.nearest({ xs, ys: xs }, x)
    if (xs.length === 0) return assert.isUndefined(found)
    assert.strictEqual(Math.abs(xs[found!]! - x), Math.min(...xs.map((other) => Math.abs(other - x))))
  })
})

describe("Line.stack", () => {
  it("sums up over the points that all lines have", () => {
    const [low, high] = Line.stack([
      { xs: Float64Array.of(1, 2, 3), ys: Float64Array.of(10, 20, 30) },
      { xs: Float64Array.of(2, 3, 4), ys: Float64Array.of(1, 2, 3) }
    ])
    assert.deepStrictEqual([...low!.xs], [2, 3])
    assert.deepStrictEqual([...low!.ys], [20, 30])
    assert.deepStrictEqual([...high!.ys], [21, 32])
  })

  it.prop("never sinks below the line underneath where parts are not negative", [Schema.Array(Ys)], ([parts]) => {
    const stacked = Line.stack(parts.map((ys) => line(ys.map(Math.abs))))
    stacked.slice(1).forEach(({ ys }, index) => {
      assert.isTrue(ys.every((y, at) => y >= stacked[index]!.ys[at]!))
    })
  })
})

describe("Line.confidence", () => {
  it("is 1.96 standard errors to either side, where the error is known", () => {
    const { high, low } = Line.confidence(points([0.5, 0.6, 0.7], [1, 5, 9]), points([0.1, 0.2], [5, 9]), false)
    assert.deepStrictEqual([...low.steps], [5, 9])
    assert.closeTo(low.values[0]!, 0.404, 1e-3)
    assert.closeTo(high.values[1]!, 1.092, 1e-3)
  })

  it("keeps a share between 0 and 1", () => {
    const { high, low } = Line.confidence(points([0.02, 0.98], [1, 2]), points([0.1, 0.1], [1, 2]), true)
    assert.strictEqual(low.values[0], 0)
    assert.strictEqual(high.values[1], 1)
  })
})

describe("Line.divide", () => {
  it("leaves out steps that one side lacks, and divisions by zero", () => {
    const { steps, values } = Line.divide(points([1, 2, 3], [1, 2, 3]), points([2, 0, 4], [1, 2, 4]))
    assert.deepStrictEqual([[...steps], [...values]], [[1], [0.5]])
  })
})

describe("Line.summary", () => {
  it.prop("tells the first, last, least and greatest", [Ys], ([ys]) => {
    const found = Line.summary(line(ys))
    if (ys.length === 0) return assert.isNull(found)
    assert.strictEqual(found!.min.y, Math.min(...ys))
    assert.strictEqual(found!.max.y, Math.max(...ys))
    assert.strictEqual(found!.last.y, ys.at(-1))
    assert.strictEqual(found!.min.y, ys[found!.min.x])
  })
})
