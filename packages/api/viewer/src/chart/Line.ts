/**
 * Prepares lines for drawing: points by ascending x. Pure. `x` is a step, or seconds since the run's first row. A
 * non-finite `y` is a gap: it keeps its place, and is ignored in means and extremes.
 */
import type { Points } from "../metrics/MetricTable.ts"

export interface Line {
  readonly xs: Float64Array
  readonly ys: Float64Array
}

export interface Band {
  readonly low: Line
  readonly high: Line
}

export const empty: Line = { xs: new Float64Array(), ys: new Float64Array() }

export const byStep = ({ steps, values }: Points): Line => ({ xs: steps, ys: values })

/**
 * By seconds since `start` (milliseconds since the epoch). Points are sorted by time: steps a resumed run has not
 * reached again are older than their predecessors.
 */
export const byTime = ({ times, values }: Points, start: number): Line => {
  const order = Uint32Array.from(times.keys())
  if (times.some((time, index) => index > 0 && time < times[index - 1]!)) {
    order.sort((left, right) => times[left]! - times[right]! || left - right)
  }
  return {
    xs: Float64Array.from(order, (index) => (times[index]! - start) / 1000),
    ys: Float64Array.from(order, (index) => values[index]!)
  }
}

/**
 * Exponential moving average with bias correction: the mean of the values so far, weighted by `weight ** age`. 0 leaves
 * the values unchanged. Equals TensorBoard's smoothing.
 */
export const smooth = (ys: Float64Array, weight: number): Float64Array => {
  if (weight <= 0) return ys
  const smoothed = new Float64Array(ys.length)
  let sum = 0
  let weights = 0
  for (let index = 0; index < ys.length; index++) {
    const y = ys[index]!
    if (!Number.isFinite(y)) {
      smoothed[index] = y
      continue
    }
    sum = sum * weight + y
    weights = weights * weight + 1
    smoothed[index] = sum / weights
  }
  return smoothed
}

/** The visible part of the x axis, and its resolution. */
export interface Window {
  readonly from: number
  readonly to: number
  /** Number of equal parts of the axis, one for each pixel or two. */
  readonly buckets: number
  /** True if the axis is logarithmic; `from` is then above 0. */
  readonly isLog: boolean
}

/**
 * Reduces to at most two points per bucket, its min and max in their original order, so that the line looks unchanged.
 * One point on either side of the window is kept, so that the line reaches the edges. A bucket with a gap has a third
 * point.
 *
 * Points are placed at the beginning, the middle and three quarters of their bucket, so that lines of one chart share
 * their `xs`; sparse lines keep their original points.
 */
export const thin = ({ xs, ys }: Line, { buckets, from, isLog, to }: Window): Line => {
  const start = lowerBound(xs, from)
  const end = upperBound(xs, to)
  if (end - start <= 2 * buckets) {
    const [first, last] = [Math.max(0, start - 1), Math.min(xs.length, end + 1)]
    return { xs: xs.subarray(first, last), ys: ys.subarray(first, last) }
  }
  const [low, high] = isLog ? [Math.log(from), Math.log(to)] : [from, to]
  const width = (high - low) / buckets
  const bucketOf = (x: number) => Math.min(buckets - 1, Math.floor(((isLog ? Math.log(x) : x) - low) / width))
  const placeOf = (bucket: number) => (isLog ? Math.exp(low + bucket * width) : low + bucket * width)
  const thinXs = new Float64Array(3 * buckets + 2)
  const thinYs = new Float64Array(3 * buckets + 2)
  let length = 0
  const keep = (x: number, y: number) => {
    thinXs[length] = x
    thinYs[length] = y
    length++
  }
  if (start > 0) keep(xs[start - 1]!, ys[start - 1]!)
  let index = start
  while (index < end) {
    const bucket = bucketOf(xs[index]!)
    let min = -1
    let max = -1
    let gap = -1
    for (; index < end && bucketOf(xs[index]!) === bucket; index++) {
      if (!Number.isFinite(ys[index]!)) {
        gap = index
        continue
      }
      if (min < 0 || ys[index]! < ys[min]!) min = index
      if (max < 0 || ys[index]! > ys[max]!) max = index
    }
    if (min >= 0) keep(placeOf(bucket), ys[Math.min(min, max)]!)
    if (min !== max) keep(placeOf(bucket + 0.5), ys[Math.max(min, max)]!)
    if (gap >= 0) keep(placeOf(bucket + 0.75), ys[gap]!)
  }
  if (end < xs.length) keep(xs[end]!, ys[end]!)
  return { xs: thinXs.subarray(0, length), ys: thinYs.subarray(0, length) }
}

/**
 * Aligns lines over the union of their `xs`: `undefined` if a line has no point, `null` in a gap. For repeated x the
 * last point counts.
 */
export const align = (
  lines: ReadonlyArray<Line>
): { readonly xs: Float64Array; readonly ys: ReadonlyArray<Array<number | null | undefined>> } => {
  const all = new Float64Array(lines.reduce((sum, { xs }) => sum + xs.length, 0))
  let length = 0
  for (const { xs } of lines) {
    all.set(xs, length)
    length += xs.length
  }
  all.sort()
  const xs = all.filter((x, index) => index === 0 || x !== all[index - 1])
  return {
    xs,
    ys: lines.map((line) => {
      const ys = Array<number | null | undefined>(xs.length).fill(undefined)
      let at = 0
      for (let index = 0; index < line.xs.length; index++) {
        while (xs[at]! < line.xs[index]!) at++
        const y = line.ys[index]!
        ys[at] = Number.isFinite(y) ? y : null
      }
      return ys
    })
  }
}

/** The index of the point nearest to `x`; undefined without points. The earlier one wins ties. */
export const nearest = ({ xs }: Line, x: number): number | undefined => {
  if (xs.length === 0) return undefined
  const after = Math.min(xs.length - 1, lowerBound(xs, x))
  const before = Math.max(0, after - 1)
  return x - xs[before]! <= xs[after]! - x ? before : after
}

/** Cumulative sums of lines over their common points: the edges of a stacked chart. */
export const stack = (lines: ReadonlyArray<Line>): ReadonlyArray<Line> => {
  const [head, ...rest] = lines
  if (head === undefined) return []
  const xs = rest.reduce((xs, line) => {
    let at = 0
    return xs.filter((x) => {
      while (line.xs[at]! < x) at++
      return line.xs[at] === x
    })
  }, head.xs)
  let below = new Float64Array(xs.length)
  return lines.map((line) => {
    let at = 0
    below = below.map((sum, index) => {
      while (line.xs[at]! < xs[index]!) at++
      return sum + line.ys[at]!
    })
    return { xs, ys: below }
  })
}

/** `top / bottom` at common points with a non-zero divisor; gaps are propagated. */
export const divide = (top: Points, bottom: Points): Points => combine(top, bottom, (a, b) => a / b)

/**
 * Bounds from the standard error: the 95% confidence interval of a mean (normal approximation); shares are clamped to
 * [0, 1].
 */
export const confidence = (
  mean: Points,
  standardError: Points,
  isShare: boolean
): { readonly low: Points; readonly high: Points } => {
  const [min, max] = isShare ? [0, 1] : [-Infinity, Infinity]
  return {
    low: combine(mean, standardError, (mean, error) => Math.max(min, mean - normal95 * error)),
    high: combine(mean, standardError, (mean, error) => Math.min(max, mean + normal95 * error))
  }
}

/** The 97.5% quantile of the normal distribution. */
const normal95 = 1.959964

const combine = (left: Points, right: Points, by: (left: number, right: number) => number): Points => {
  const steps: Array<number> = []
  const times: Array<number> = []
  const values: Array<number> = []
  let at = 0
  for (let index = 0; index < left.steps.length; index++) {
    const step = left.steps[index]!
    while (at < right.steps.length && right.steps[at]! < step) at++
    if (right.steps[at] !== step) continue
    const [one, other] = [left.values[index]!, right.values[at]!]
    const value = Number.isFinite(one) && Number.isFinite(other) ? by(one, other) : Number.NaN
    if (!Number.isFinite(value) && Number.isFinite(one) && Number.isFinite(other)) continue
    steps.push(step)
    times.push(left.times[index]!)
    values.push(value)
  }
  return { steps: Float64Array.from(steps), times: Float64Array.from(times), values: Float64Array.from(values) }
}

/**
 * First, last, smallest and largest value with their positions, and the number of gaps; null without points. If all
 * values are gaps, the extremes are at the first.
 */
export const summary = ({ xs, ys }: Line): Summary | null => {
  if (ys.length === 0) return null
  let min = 0
  let max = 0
  let gaps = 0
  for (let index = 0; index < ys.length; index++) {
    if (!Number.isFinite(ys[index]!)) {
      gaps++
      continue
    }
    if (!(ys[index]! >= ys[min]! && Number.isFinite(ys[min]!))) min = index
    if (!(ys[index]! <= ys[max]! && Number.isFinite(ys[max]!))) max = index
  }
  const at = (index: number) => ({ x: xs[index]!, y: ys[index]! })
  return { first: at(0), last: at(ys.length - 1), min: at(min), max: at(max), count: ys.length, gaps }
}

export interface Summary {
  readonly first: { readonly x: number; readonly y: number }
  readonly last: { readonly x: number; readonly y: number }
  readonly min: { readonly x: number; readonly y: number }
  readonly max: { readonly x: number; readonly y: number }
  readonly count: number
  readonly gaps: number
}

/** The first index whose value is not below `x`. */
const lowerBound = (xs: Float64Array, x: number): number => {
  let low = 0
  let high = xs.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (xs[middle]! < x) low = middle + 1
    else high = middle
  }
  return low
}

const upperBound = (xs: Float64Array, x: number): number => {
  let low = 0
  let high = xs.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (xs[middle]! <= x) low = middle + 1
    else high = middle
  }
  return low
}
