/**
 * Checks rows of numbers in place: a valid row is returned unchanged and costs one comparison chain per number (8 x
 * 1000 tokens: about 20 microseconds); only a row with coercions or errors is walked value by value.
 */
import type { Loc, Report } from "./Detail.ts"
import * as Scalars from "./Scalars.ts"

export type Row = ReadonlyArray<number>
type CheckRow = (value: unknown, loc: Loc, report: Report) => Row

const intRow = (range: Scalars.Range): CheckRow => {
  const { maximum, minimum } = range
  return (value, loc, report) => {
    const row = Scalars.list(value, loc, report)
    for (const entry of row) {
      if (typeof entry !== "number" || (entry | 0) !== entry || entry < minimum || entry > maximum) {
        return row.map((one, index) => Scalars.int(one, range, [...loc, index], report))
      }
    }
    // Every entry was just checked to be a number.
    return row as Row
  }
}

const floatRow = (range: Scalars.Range): CheckRow => {
  const { maximum, minimum } = range
  return (value, loc, report) => {
    const row = Scalars.list(value, loc, report)
    for (const entry of row) {
      // NaN must fail this condition.
      if (!(typeof entry === "number" && entry >= minimum && entry <= maximum)) {
        return row.map((one, index) => Scalars.float(one, range, [...loc, index], report))
      }
    }
    return row as Row
  }
}

/** (T) token ids. */
export const tokenRow = intRow(Scalars.tokenId)
/** (T) labels: a token id or -100. */
export const maskRow = intRow(Scalars.int32)
/** (T) logprobs, or (G) scores: numbers that fit a 32-bit float, in which a trainer computes. */
export const numberRow = floatRow(Scalars.float32)

/** A list whose elements are checked by `check`; returns the same list if nothing changed. */
export const listOf =
  <A>(check: (value: unknown, loc: Loc, report: Report) => A) =>
  (value: unknown, loc: Loc, report: Report): ReadonlyArray<A> => {
    const elements = Scalars.list(value, loc, report)
    return elements.map((element, index) => check(element, [...loc, index], report))
  }
