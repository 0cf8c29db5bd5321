/**
 * Where a series leaves its level from one value to the next and stays away: what learning does not do, and what a
 * change from outside does. Pure.
 */
import * as Series from "./Series.ts"

export interface Jump {
  /** Index of the first value of the new level. */
  readonly at: number
  /** Means of the values before it and from it on. */
  readonly before: number
  readonly after: number
}

/** Values that a level is measured by: before the jump, from it on, and on each side at most. */
const fewestBefore = 8
const fewest = 5
const most = 10
/** Of a jump that training undoes at once: a policy learns scores that were inverted in a few steps. */
const sudden = 3
const back = 0.75
/** A jump is larger than any step before it, where a series rises anyway. */
const larger = 1.5
/** Standard errors of the difference. */
const surely = 7
/** Where something else speaks for it. */
const plainly = 3
/** The part of the difference that is had in the one step, and of all that the series has gone through. */
const atOnce = 0.6
const noticeable = 0.25

type Values = Float64Array

const largestStep = (values: Values): number =>
  values.reduce((most, value, at) => (at === 0 ? 0 : Math.max(most, Math.abs(value - values[at - 1]!))), 0)

const sizeOf = ({ after, before }: Jump): number => Math.abs(after - before)

const jumpAt = (values: Values, at: number, range: number, isPlain: boolean): Jump | undefined => {
  const step = values[at]! - values[at - 1]!
  if (Math.abs(step) < atOnce * noticeable * range) return undefined
  const left = values.subarray(Math.max(0, at - most), at)
  if (!isPlain && Math.abs(step) <= larger * largestStep(left)) return undefined
  const before = Series.mean(left)
  // Of a value around a level that moves.
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
  const lasting = lasts(most, isPlain ? plainly : surely, deviation * Math.sqrt(2 / left.length))
  if (lasting !== undefined) return lasting
  const undone = lasts(sudden, plainly, deviation * Math.sqrt(1 / sudden + 1 / left.length))
  const next = Series.mean(values.subarray(at + sudden, at + fewest))
  return undone && Math.abs(next - before) < back * sizeOf(undone) ? undone : undefined
}

/** Whether a jump undoes an earlier one. */
const undoes = (later: Jump, earlier: Jump): boolean =>
  Math.sign(later.after - later.before) !== Math.sign(earlier.after - earlier.before) &&
  Math.abs(later.after - earlier.before) < sizeOf(earlier) / 2

export interface Options {
  /** Whether the change at an index has another reason. */
  readonly isOwn: (at: number) => boolean
  /** How large a jump at an index is at least. */
  readonly least: (at: number) => number
  /** Whether something else speaks for a jump there. */
  readonly isPlain: (at: number) => boolean
}

/** The jumps that were not undone by another one, in order. */
export const find = (values: Values, { isOwn, isPlain, least: leastAt }: Options): ReadonlyArray<Jump> => {
  let [least, largest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const value of values) [least, largest] = [Math.min(least, value), Math.max(largest, value)]
  const jumps: Array<Jump> = []
  let last = Number.NEGATIVE_INFINITY
  for (let at = fewestBefore; at + fewest <= values.length; at++) {
    const jump = at - last < fewest ? undefined : jumpAt(values, at, largest - least, isPlain(at))
    if (jump === undefined || sizeOf(jump) < leastAt(at) || isOwn(at)) continue
    last = at
    const earlier = jumps.at(-1)
    if (earlier !== undefined && undoes(jump, earlier)) jumps.pop()
    else jumps.push(jump)
  }
  return jumps
}
