/**
 * Limits the structure of a JSON body before parsing: a parser takes microseconds and a hundred bytes for a list of two
 * characters, ten times both for a key that no other object has, recursion over the result fails on depth, and an exact
 * integer takes time by the square of its digits. Long texts cost nothing.
 *
 * Counts in one pass over the bytes, in chunks that yield to other fibers; ends at the first exceeded limit. Any bytes
 * are accepted; the result for invalid JSON is unspecified.
 */
import { Effect } from "effect"
import { maxDepth } from "./Nesting.ts"

export interface Bounds {
  readonly levels: number
  readonly opened: number
  /** Keys of all maps together. */
  readonly keys: number
  /** Elements of lists and maps together. */
  readonly values: number
  /** Digits in a row outside of texts. */
  readonly digits: number
}

/** About 50 ms of a parser's time, for each count; Python also refuses integers of more digits. */
export const defaults: Bounds = { levels: maxDepth, opened: 100_000, keys: 65_536, values: 1_000_000, digits: 4300 }

/** A counter of bytes; returns the exceeded limit as soon as there is one. */
export const counter = (bounds: Bounds) => {
  const { digits: maxDigits, keys: maxKeys, levels: maxLevels, opened: maxOpened, values: maxValues } = bounds
  let levels = 0
  let opened = 0
  let keys = 0
  let commas = 0
  let digits = 0
  let isText = false
  let isEscaped = false
  /** Counts the bytes from `from` to `to`. */
  return (json: Uint8Array, from: number, to: number): string | undefined => {
    for (let at = from; at < to; at++) {
      const code = json[at]
      if (isText) {
        if (isEscaped) isEscaped = false
        else if (code === 0x5c) isEscaped = true
        else if (code === 0x22) isText = false
        continue
      }
      if (code !== undefined && code >= 0x30 && code <= 0x39) {
        if (++digits > maxDigits) return `has a number of more than ${maxDigits} digits`
        continue
      }
      digits = 0
      if (code === 0x22) isText = true
      else if (code === 0x2c) {
        if (++commas + opened > maxValues) return `has more than ${maxValues} elements of lists and maps`
      } else if (code === 0x3a) {
        if (++keys > maxKeys) return `has more than ${maxKeys} keys`
      } else if (code === 0x5b || code === 0x7b) {
        if (++levels > maxLevels) return `is nested more than ${maxLevels} levels deep`
        if (++opened > maxOpened) return `has more than ${maxOpened} lists and maps`
      } else if (code === 0x5d || code === 0x7d) levels--
    }
    return undefined
  }
}

/** Bytes between yields. */
const pieceBytes = 4 * 2 ** 20

/** The exceeded limit of a body; undefined if none is. */
export const excess = Effect.fnUntraced(function* (
  json: Uint8Array,
  bounds: Bounds = defaults
): Effect.fn.Return<string | undefined> {
  const count = counter(bounds)
  for (let from = 0; from < json.length; from += pieceBytes) {
    if (from > 0) yield* Effect.yieldNow
    const found = count(json, from, Math.min(json.length, from + pieceBytes))
    if (found !== undefined) return found
  }
  return undefined
})
