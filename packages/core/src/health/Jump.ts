/**
 * Finds where a series leaves its level from one value to the next and stays away, which external changes do and
 * learning does not. Pure.
 */
import * as Series from "./Series.ts"

export interface Jump {
  /** Index of the first value of the new level. */
  readonly at: number
  /** Means of the values before it and from it on. */
  readonly before: number
  readonly after: number
}

/** Number of values for measuring a level: min before the jump, min from it on, and max on each side. */
const minBefore = 8
const fewest = 5
const max = 10
/** Values after a jump that training undoes immediately: a policy learns inverted scores in a few steps. */
const sudden = 3
const back = 0.75
/** A jump is larger than any step before it, where a series rises anyway. */
const larger = 1.5
/** Standard errors of the difference. */
const surely = 7
const plainly = 3
/** Share of the difference that occurs in the one step, and min jump relative to the series' range. */
const atOnce = 0.6
const noticeable = 0.25

type Values = Float64Array

const largestStep = (values: Values): number =>
  values.reduce((max, value, at) => (at === 0 ? 0 : Math.max(max, Math.abs(value - values[at - 1]!))), 0)

const sizeOf = ({ after, before }: Jump): number => Math.abs(after - before)

const jumpAt = (values: Values, at: number, range: number, isPlain: boolean): Jump | undefined => {
  const step = values[at]! - values[at - 1]!
  if (Math.abs(step) < atOnce * noticeable * range) return undefined
  const left = values.subarray(Math.max(0, at - max), at)
  if (!isPlain && Math.abs(step) <= larger * largestStep(left)) return undefined
  const before = Series.mean(left)
  // Deviation of values around a level that moves.
  const deviation = Math.sqrt(Series.jitter(left))
  const lasts = (count: number, times: number, error: number): Jump | undefined => {
    const right = values.subarray(at, at + count)
    const after = Series.mean(right)
    const rise = after - before
    const isJump =
      Math.abs(rise) > times * Series.errorBetween(left, right) &&
      Math.abs(rise) > (isPlain ? plainly : surely) * error &&
      Math.abs(rise) >= noticeable * range &&
      Math.sign(step) === Math.sign(rise) &&
      Math.abs(step) >= atOnce * Math.abs(rise) &&
      // The next values stay there.
      Math.abs(Series.mean(values.subarray(at, at + fewest)) - before) >= atOnce * Math.abs(rise)
    return isJump ? { at, before, after } : undefined
  }
  // Each side's own noise, and that around a level that moves.
  const lasting = lasts(max, isPlain ? plainly : surely, deviation * Math.sqrt(2 / left.length))
  if (lasting !== undefined) return lasting
  const undone = lasts(sudden, plainly, deviation * Math.sqrt(1 / sudden + 1 / left.length))
  const next = Series.mean(values.subarray(at + sudden, at + fewest))
  return undone && Math.abs(next - before) < back * sizeOf(undone) ? undone : undefined
}

/**
 * The jump from the value before an index to the one after it: an environment's row may cover groups of both levels.
 * Learning can look the same, so only with other evidence.
 */
const jumpAround = (values: Values, at: number, range: number): Jump | undefined => {
  const [last, mixed, first] = [values[at - 1]!, values[at]!, values[at + 1]!]
  if ((mixed - last) * (first - mixed) <= 0) return undefined
  const from = Math.max(0, at - max)
  const without = Float64Array.of(...values.subarray(from, at), ...values.subarray(at + 1, at + 1 + max))
  const jump = jumpAt(without, at - from, range, true)
  return jump && { ...jump, at: at + 1 }
}

/** True if a jump undoes an earlier one. */
const undoes = (later: Jump, earlier: Jump): boolean =>
  Math.sign(later.after - later.before) !== Math.sign(earlier.after - earlier.before) &&
  Math.abs(later.after - earlier.before) < sizeOf(earlier) / 2

export interface Options {
  /** False if the change at an index has another reason. */
  readonly isOwn: (at: number) => boolean
  readonly least: (at: number) => number
  /** True if there is other evidence for a jump there. */
  readonly isPlain: (at: number) => boolean
}

/** The jumps that no later jump undid, in order. */
export const find = (values: Values, { isOwn, isPlain, least: minAt }: Options): ReadonlyArray<Jump> => {
  let [min, largest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const value of values) [min, largest] = [Math.min(min, value), Math.max(largest, value)]
  const jumps: Array<Jump> = []
  let last = Number.NEGATIVE_INFINITY
  for (let at = minBefore; at + fewest <= values.length; at++) {
    if (at - last < fewest) continue
    const counts = (jump: Jump | undefined): Jump | undefined =>
      jump === undefined || sizeOf(jump) < minAt(jump.at) || isOwn(at) || isOwn(jump.at) ? undefined : jump
    const jump =
      counts(jumpAt(values, at, largest - min, isPlain(at))) ??
      (at + fewest < values.length && isPlain(at + 1) ? counts(jumpAround(values, at, largest - min)) : undefined)
    if (jump === undefined) continue
    last = jump.at
    const earlier = jumps.at(-1)
    if (earlier !== undefined && undoes(jump, earlier)) jumps.pop()
    else jumps.push(jump)
  }
  return jumps
}
