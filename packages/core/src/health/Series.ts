/**
 * The recorded metrics of a run as health rules read them, and the statistics used by rules. Pure.
 *
 * Values are by ascending step; NaN and infinities are values too, but excluded from means.
 */
import type { Activity } from "./Activity.ts"

export interface Series {
  readonly steps: ArrayLike<number>
  readonly values: ArrayLike<number>
}

/** All recorded metrics; a source without a metric has an empty series. */
export interface Recorded {
  readonly activity?: () => Activity | undefined
  readonly names: () => ReadonlyArray<string>
  readonly sourcesOf: (metric: string) => ReadonlyArray<string>
  readonly points: (source: string, metric: string) => Series
}

export const finite = ({ steps, values }: Series): { readonly steps: Float64Array; readonly values: Float64Array } => {
  const kept = { steps: new Float64Array(values.length), values: new Float64Array(values.length) }
  let count = 0
  for (let index = 0; index < values.length; index++) {
    if (!Number.isFinite(values[index])) continue
    kept.steps[count] = steps[index]!
    kept.values[count++] = values[index]!
  }
  return { steps: kept.steps.subarray(0, count), values: kept.values.subarray(0, count) }
}

export const mean = (values: ArrayLike<number>): number => {
  let sum = 0
  for (let index = 0; index < values.length; index++) sum += values[index]!
  return sum / values.length
}

/** Sample variance; 0 for one value. */
export const variance = (values: Float64Array): number => {
  const center = mean(values)
  return values.reduce((sum, value) => sum + (value - center) ** 2, 0) / Math.max(1, values.length - 1)
}

/** Variance of values around a slowly moving level, from successive differences (von Neumann 1941). */
export const jitter = (values: Float64Array): number => {
  let sum = 0
  for (let index = 1; index < values.length; index++) sum += (values[index]! - values[index - 1]!) ** 2
  return sum / 2 / Math.max(1, values.length - 1)
}

export const errorBetween = (left: Float64Array, right: Float64Array): number =>
  Math.sqrt(variance(left) / left.length + variance(right) / right.length)

/** Rolling means over `window` values, from a running sum. */
export const meansOver = (values: Float64Array, window: number): Float64Array => {
  const means = new Float64Array(Math.max(0, values.length - window + 1))
  let sum = 0
  for (let index = 0; index < values.length; index++) {
    sum += values[index]! - (index >= window ? values[index - window]! : 0)
    if (index >= window - 1) means[index - window + 1] = sum / window
  }
  return means
}

/**
 * Change point of a level: the first value of the second of two segments with constant means, by least squares.
 * Segments have at least two values; undefined if there are too few.
 */
export const breakOf = (values: Float64Array): number | undefined => {
  const total = values.reduce((sum, value) => sum + value, 0)
  let [best, found, sum] = [Number.NEGATIVE_INFINITY, undefined as number | undefined, 0]
  for (let index = 1; index < values.length - 1; index++) {
    sum += values[index - 1]!
    if (index < 2) continue
    const [left, right] = [index, values.length - index]
    const gained = sum ** 2 / left + (total - sum) ** 2 / right
    if (gained > best) [best, found] = [gained, index]
  }
  return found
}

/** Pearson's correlation; undefined if either is constant, or there are fewer than three. */
export const correlation = (xs: ArrayLike<number>, ys: ArrayLike<number>): number | undefined => {
  if (xs.length < 3) return undefined
  const [meanX, meanY] = [mean(xs), mean(ys)]
  let [both, ofX, ofY] = [0, 0, 0]
  for (let index = 0; index < xs.length; index++) {
    const [x, y] = [xs[index]! - meanX, ys[index]! - meanY]
    both += x * y
    ofX += x * x
    ofY += y * y
  }
  return ofX > 0 && ofY > 0 ? both / Math.sqrt(ofX * ofY) : undefined
}

/** The values of two series at their common steps. */
export const together = (left: Series, right: Series): readonly [xs: Float64Array, ys: Float64Array] => {
  const byStep = new Map(Array.from({ length: right.steps.length }, (_, at) => [right.steps[at]!, right.values[at]!]))
  const pairs = Array.from({ length: left.steps.length }, (_, at) => [left.values[at]!, byStep.get(left.steps[at]!)])
  const shared = pairs.filter((pair): pair is [number, number] => pair.every((value) => Number.isFinite(value)))
  return [Float64Array.from(shared, ([x]) => x), Float64Array.from(shared, ([, y]) => y)]
}

/** One count as a share of another, at common steps; 0 if the whole is 0. */
export const sharesOf = (part: Series, whole: Series): ReturnType<typeof finite> => {
  const byStep = new Map(Array.from({ length: whole.steps.length }, (_, at) => [whole.steps[at]!, whole.values[at]!]))
  return finite({
    steps: part.steps,
    values: Array.from({ length: part.steps.length }, (_, at) => {
      const all = byStep.get(part.steps[at]!)
      return all === undefined ? Number.NaN : all > 0 ? part.values[at]! / all : 0
    })
  })
}
