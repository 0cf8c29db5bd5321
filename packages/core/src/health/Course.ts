/**
 * Describes the course of a reward over a run: its start, its best, whether it has fallen, whether it still rises.
 * Pure.
 */
import { window } from "./Finding.ts"
import * as Series from "./Series.ts"

/** Means over `window` values: the last, the ones before, the first, and the best. */
export interface Course {
  readonly window: number
  readonly now: number
  readonly before: number
  readonly start: number
  /** `step` is the last one of its window. */
  readonly best: { readonly value: number; readonly step: number }
  /** Distance below its best, if significant; otherwise 0. */
  readonly fallen: number
  /** The step at which it fell; null if it did not. */
  readonly fellAt: number | null
}

/** Standard errors of a significant change, accounting for the best being a maximum over many. */
const surely = 4
/** Min size of a fall relative to the range of the series. */
const noticeable = 0.1

/** The course of a reward; null without values. Windows are shorter if there are too few values for two of them. */
export const courseOf = ({ steps, values }: ReturnType<typeof Series.finite>): Course | null => {
  if (values.length === 0) return null
  const size = Math.max(1, Math.min(window, Math.floor(values.length / 2)))
  const means = Series.meansOver(values, size)
  const now = means.at(-1)!
  let [best, worst] = [0, 0]
  for (let index = 1; index < means.length; index++) {
    if (means[index]! > means[best]!) best = index
    if (means[index]! < means[worst]!) worst = index
  }
  const below = means[best]! - now
  // Ten values may be alike by chance: the jitter of all values is the lower bound.
  const chance = Math.max(
    Series.errorBetween(values.subarray(best, best + size), values.subarray(-size)),
    Math.sqrt((2 * Series.jitter(values)) / size)
  )
  const isFallen = below > surely * chance && below > noticeable * (means[best]! - means[worst]!)
  const broken = isFallen ? Series.breakOf(values.subarray(best)) : undefined
  return {
    window: size,
    now,
    before: means.at(-1 - size) ?? now,
    start: means[0]!,
    best: { value: means[best]!, step: steps[best + size - 1]! },
    fallen: isFallen ? below : 0,
    fellAt: broken === undefined ? null : steps[best + broken]!
  }
}

type Values = ReturnType<typeof Series.finite>["values"]

/** True if the last values are significantly above the first; false if there are too few. */
export const hasRisen = (values: Values): boolean => {
  if (values.length < 2 * window) return false
  const [first, last] = [values.subarray(0, window), values.subarray(-window)]
  return Series.mean(last) - Series.mean(first) > surely * Series.errorBetween(first, last)
}

/** Standard errors; a false negative only delays the finding. */
const probably = 2

/** True if the last quarter of the values is above the quarter before it, with at least `window` values each. */
export const isRising = (values: Values): boolean => {
  const size = Math.max(window, Math.floor(values.length / 4))
  if (values.length < 2 * size) return false
  const [before, last] = [values.subarray(-2 * size, -size), values.subarray(-size)]
  return Series.mean(last) - Series.mean(before) > probably * Series.errorBetween(before, last)
}
