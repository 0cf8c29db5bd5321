/**
 * Finds the spans of the values of a JSON object or array in its bytes, so that they can be stored and joined without
 * re-serialization.
 *
 * The bytes must be JSON accepted by a parser: only nesting depth is validated here. Matrices of numbers are skipped by
 * counting closing brackets natively, a hint taken from the parsed value; an inapplicable hint (a repeated key) is
 * detected, and the value is walked byte by byte instead.
 */
import * as Nesting from "../../base/json/Nesting.ts"
import { skipSpace } from "./ScanNumbers.ts"

export interface Span {
  readonly start: number
  readonly end: number
}

/** Deeper nesting is rejected, because recursive parsers (such as Python's) would fail on it. */
export const maxDepth = Nesting.maxDepth

/** Levels around the values of a group: a list, an item with its key, the group itself. */
const around = 4

/** True if a whole text is nested deeper than any accepted value could be. */
export const isTooDeep = (bytes: Uint8Array): boolean => Nesting.isDeep(bytes, maxDepth + around)

const quote = 0x22
const comma = 0x2c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b

/** From the first byte of a value to after its last; -1 if nested too deep. */
export const skipValue = (bytes: Uint8Array, from: number): number => {
  let depth = 0
  let at = from
  while (at < bytes.length) {
    const byte = bytes[at]
    if (byte === quote) {
      at = Nesting.skipString(bytes, at)
      if (depth === 0) return at
      continue
    }
    if (byte === openBracket || byte === openBrace) {
      if (++depth > maxDepth) return -1
    } else if (byte === closeBracket || byte === closeBrace) {
      if (depth === 0) return at
      if (--depth === 0) return at + 1
    } else if (depth === 0 && (byte === comma || byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09)) {
      return at
    }
    at++
  }
  return at
}

/** Skips a matrix of numbers by its number of closing brackets; undefined if that count does not match the bytes. */
const skipMatrix = (bytes: Uint8Array, from: number, brackets: number): number | undefined => {
  let at = from - 1
  for (let seen = 0; seen < brackets; seen++) {
    at = bytes.indexOf(closeBracket, at + 1)
    if (at < 0) return undefined
  }
  const nextQuote = bytes.indexOf(quote, from)
  if (nextQuote >= 0 && nextQuote < at) return undefined
  const next = skipSpace(bytes, at + 1)
  const fits = bytes[next] === closeBrace || (bytes[next] === comma && bytes[skipSpace(bytes, next + 1)] === quote)
  return fits ? at + 1 : undefined
}

const decoder = new TextDecoder()

const keyOf = (bytes: Uint8Array, span: Span): string => {
  const text = decoder.decode(bytes.subarray(span.start, span.end))
  // The key is valid JSON, and a string.
  return text.includes("\\") ? (JSON.parse(text) as string) : text.slice(1, -1)
}

/** Values of an object by key (the last one of repeated keys); undefined if a value is nested too deep. */
export const members = (
  bytes: Uint8Array,
  closingBrackets: (key: string) => number | undefined
): ReadonlyMap<string, Span> | undefined => {
  const found = new Map<string, Span>()
  let at = skipSpace(bytes, skipSpace(bytes, 0) + 1)
  while (bytes[at] === quote) {
    const keyEnd = Nesting.skipString(bytes, at)
    const key = keyOf(bytes, { start: at, end: keyEnd })
    const start = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1)
    const brackets = closingBrackets(key)
    const end = (brackets === undefined ? undefined : skipMatrix(bytes, start, brackets)) ?? skipValue(bytes, start)
    if (end < 0) return undefined
    found.set(key, { start, end })
    at = skipSpace(bytes, end)
    if (bytes[at] === comma) at = skipSpace(bytes, at + 1)
  }
  return found
}

/** Elements of an array; undefined if one is nested too deep. */
export const elements = (bytes: Uint8Array): ReadonlyArray<Span> | undefined => {
  const found: Array<Span> = []
  let at = skipSpace(bytes, skipSpace(bytes, 0) + 1)
  while (at < bytes.length && bytes[at] !== closeBracket) {
    const end = skipValue(bytes, at)
    if (end < 0) return undefined
    found.push({ start: at, end })
    at = skipSpace(bytes, end)
    if (bytes[at] === comma) at = skipSpace(bytes, at + 1)
  }
  return found
}
