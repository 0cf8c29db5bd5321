/**
 * Finds interruptions of a curve, across which a line would show unmeasured values: steps that were not recorded, and
 * pauses of a run that was stopped and resumed. Pure. Most sources record at regular steps: there a single missing row
 * is a break. For irregular sources (an environment records once it has sent enough) only a much larger distance is. A
 * pause only breaks curves over time.
 */
import type { Line } from "./Line.ts"
import type { Points } from "../metrics/MetricTable.ts"

/** Min share of equal distances for a regular source. */
const mostly = 0.9
/** Max multiple of the usual distance for an irregular source. */
const wide = 4
/** Multiple of the usual distance, and min seconds, of a pause. */
const pause = 20
const minPause = 60
/** Min number of points to determine the usual distance. */
const fewest = 4

const distancesOf = (xs: Float64Array): Float64Array => xs.subarray(1).map((x, index) => x - xs[index]!)

const where = (distances: Float64Array, is: (distance: number) => boolean): ReadonlySet<number> =>
  new Set(Array.from(distances.keys()).filter((index) => is(distances[index]!)))

const none: ReadonlySet<number> = new Set()

/** Indices followed by missing steps. */
const missingIn = (steps: Float64Array): ReadonlySet<number> => {
  if (steps.length < fewest) return none
  const distances = distancesOf(steps)
  const median = distances.toSorted()[distances.length >> 1]!
  const isRegular = distances.filter((distance) => distance === median).length >= mostly * distances.length
  return where(distances, (distance) => distance > (isRegular ? median : wide * median))
}

/** Indices followed by a pause; `xs` in seconds. */
const pausesIn = (xs: Float64Array): ReadonlySet<number> => {
  if (xs.length < fewest) return none
  const distances = distancesOf(xs)
  const median = distances.toSorted()[distances.length >> 1]!
  return where(distances, (distance) => distance > Math.max(minPause, pause * median))
}

/** The line with a gap after each of these indices. */
const broken = ({ xs, ys }: Line, after: ReadonlySet<number>): Line => {
  if (after.size === 0) return { xs, ys }
  const gapped = { xs: new Float64Array(xs.length + after.size), ys: new Float64Array(xs.length + after.size) }
  let length = 0
  for (let index = 0; index < xs.length; index++) {
    gapped.xs[length] = xs[index]!
    gapped.ys[length++] = ys[index]!
    if (!after.has(index)) continue
    gapped.xs[length] = (xs[index]! + xs[index + 1]!) / 2
    gapped.ys[length++] = Number.NaN
  }
  return gapped
}

export const overSteps = (line: Line): Line => broken(line, missingIn(line.xs))

/** A line over seconds; missing steps are unknown if the run's steps went back. */
export const overTime = (line: Line, { steps, times }: Points): Line => {
  const isAscending =
    steps.length === line.xs.length && times.every((time, index) => index === 0 || time >= times[index - 1]!)
  return broken(line, new Set([...pausesIn(line.xs), ...(isAscending ? missingIn(steps) : none)]))
}
