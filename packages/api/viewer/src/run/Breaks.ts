/**
 * Where a curve is interrupted: steps that were not recorded, and pauses of a run that was stopped and
 * resumed. A line over them would show values that were not measured. Pure.
 *
 * Most sources record every so many steps: then one step without a row is a break. Of irregular sources (an environment
 * records when it has sent enough) only a distance far beyond the usual one is. A pause breaks curves over time alone.
 */
import type { Line } from "./Line.ts"
import type { Points } from "./MetricTable.ts"

/** From this share of equal distances on, rows come regularly. */
const mostly = 0.9
/** Usual distances of an irregular source that its rows may lie apart. */
const wide = 4
/** Usual distances, and seconds, from which on nothing was going on. */
const pause = 20
const leastPause = 60
/** Fewer say nothing of what is usual. */
const fewest = 4

const distancesOf = (xs: Float64Array): Float64Array => xs.subarray(1).map((x, index) => x - xs[index]!)

const where = (distances: Float64Array, is: (distance: number) => boolean): ReadonlySet<number> =>
  new Set(Array.from(distances.keys()).filter((index) => is(distances[index]!)))

const none: ReadonlySet<number> = new Set()

/** Indices behind which steps are missing. */
const missingIn = (steps: Float64Array): ReadonlySet<number> => {
  if (steps.length < fewest) return none
  const distances = distancesOf(steps)
  const usual = distances.toSorted()[distances.length >> 1]!
  const isRegular = distances.filter((distance) => distance === usual).length >= mostly * distances.length
  return where(distances, (distance) => distance > (isRegular ? usual : wide * usual))
}

/** Indices behind which nothing came for long; `xs` in seconds. */
const pausesIn = (xs: Float64Array): ReadonlySet<number> => {
  if (xs.length < fewest) return none
  const distances = distancesOf(xs)
  const usual = distances.toSorted()[distances.length >> 1]!
  return where(distances, (distance) => distance > Math.max(leastPause, pause * usual))
}

/** The line with a gap behind each of these indices. */
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

/** A line over steps. */
export const overSteps = (line: Line): Line => broken(line, missingIn(line.xs))

/** A line over seconds; of a run whose steps went back, missing ones are not known. */
export const overTime = (line: Line, { steps, times }: Points): Line => {
  const isAscending =
    steps.length === line.xs.length && times.every((time, index) => index === 0 || time >= times[index - 1]!)
  return broken(line, new Set([...pausesIn(line.xs), ...(isAscending ? missingIn(steps) : none)]))
}
