/** How a reward has gone over a run: where it began, its best, whether it has fallen, whether it still rises. Pure. */
import { window } from "./Finding.ts"
import * as Series from "./Series.ts"

/** Means over `window` values: of the last, of those before them, of the first, and of the best there were. */
export interface Course {
  readonly window: number
  readonly now: number
  readonly before: number
  readonly start: number
  /** `step` is the last of them. */
  readonly best: { readonly value: number; readonly step: number }
  /** How far it is below its best, where that is more than chance: else 0. */
  readonly fallen: number
  /** The step at which it fell; null where it did not. */
  readonly fellAt: number | null
}

/** A rise or a fall is one of so many standard errors, the best being the best of many. */
const surely = 4
/** A fall is at least this part of all that the run has gone through. */
const noticeable = 0.1

/** How a reward has gone; null without values. Windows are shorter where the values are too few for two of them. */
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
  // Ten values may be alike by chance: the jitter of all of them is the least that is reckoned with.
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

/** Whether the last values are above the first ones by more than chance; not where they are too few for both. */
export const hasRisen = (values: Values): boolean => {
  if (values.length < 2 * window) return false
  const [first, last] = [values.subarray(0, window), values.subarray(-window)]
  return Series.mean(last) - Series.mean(first) > surely * Series.errorBetween(first, last)
}

/** Twice the standard error: a mistake here only delays what is told. */
const probably = 2

/** Whether the last quarter of the values is above the quarter before it, `window` values each at least. */
export const isRising = (values: Values): boolean => {
  const size = Math.max(window, Math.floor(values.length / 4))
  if (values.length < 2 * size) return false
  const [before, last] = [values.subarray(-2 * size, -size), values.subarray(-size)]
  return Series.mean(last) - Series.mean(before) > probably * Series.errorBetween(before, last)
}
