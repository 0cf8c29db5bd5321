/**
 * Parses JSON text like the original's server: `JSON.parse` first; if it fails, the bare words `NaN`, `Infinity` and
 * `-Infinity`, which Python's parser accepts, are distinguished from errors, and an error is reported with the message
 * and position (in code points) of CPython's `json` module.
 */
import { Result } from "effect"
import type { Loc } from "./Detail.ts"

/** The text is not JSON: CPython's message and position. */
export interface Mistake {
  readonly message: string
  readonly position: number
}

const marker = "\u0000not finite: "

/**
 * A parsed text. `notFinite` is true if the text has bare words for NaN or infinite numbers; `value` has markers in
 * their place.
 */
export interface Parsed {
  readonly value: unknown
  readonly notFinite: boolean
}

const parseText = (text: string): Result.Result<unknown, unknown> => Result.try((): unknown => JSON.parse(text))

export const parse = (text: string): Result.Result<Parsed, Mistake> => {
  const plain = parseText(text)
  if (Result.isSuccess(plain)) return Result.succeed({ value: plain.success, notFinite: false })
  const marked = markNotFinite(text)
  const parsed = marked === undefined ? plain : parseText(marked)
  if (Result.isSuccess(parsed)) return Result.succeed({ value: parsed.success, notFinite: true })
  const mistake = findMistake(text)
  return Result.fail({ message: mistake.message, position: codePoints(text, mistake.position) })
}

const candidate = /["NI]|-I/g
const word = /-?Infinity|NaN/y

/** Index after the quote that closes the string at `from`; undefined if none does. */
const endOfString = (text: string, from: number): number | undefined => {
  for (let at = text.indexOf('"', from + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0
    while (text[at - 1 - slashes] === "\\") slashes++
    if (slashes % 2 === 0) return at + 1
  }
  return undefined
}

/**
 * The text with markers instead of its bare words; undefined if it has none. A single pass, because the text is
 * untrusted.
 */
const markNotFinite = (text: string): string | undefined => {
  const parts: Array<string> = []
  let done = 0
  candidate.lastIndex = 0
  for (let found = candidate.exec(text); found !== null; found = candidate.exec(text)) {
    if (found[0] === '"') {
      const end = endOfString(text, found.index)
      if (end === undefined) break
      candidate.lastIndex = end
      continue
    }
    word.lastIndex = found.index
    const bare = word.exec(text)?.[0]
    if (bare === undefined) continue
    parts.push(text.slice(done, found.index), JSON.stringify(marker + bare))
    done = candidate.lastIndex = found.index + bare.length
  }
  return parts.length === 0 ? undefined : parts.join("") + text.slice(done)
}

const codePoints = (text: string, position: number): number => {
  let count = position
  for (let at = 0; at < position; at++) {
    const isPair = (text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00
    if (isPair && at + 1 < position) {
      count--
      at++
    }
  }
  return count
}

/** Not searched deeper: such nesting is rejected anyway. */
const maxDepth = 500

/** The bare words under `value`, with their locations. */
export const notFiniteIn = (
  value: unknown,
  loc: Loc,
  found: Array<{ readonly loc: Loc; readonly word: string }> = []
): ReadonlyArray<{ readonly loc: Loc; readonly word: string }> => {
  if (typeof value === "string") {
    if (value.startsWith(marker)) found.push({ loc, word: value.slice(marker.length) })
  } else if (loc.length > maxDepth) {
    return found
  } else if (Array.isArray(value)) {
    value.forEach((element: unknown, index) => notFiniteIn(element, [...loc, index], found))
  } else if (typeof value === "object" && value !== null) {
    for (const [key, element] of Object.entries(value)) notFiniteIn(element, [...loc, key], found)
  }
  return found
}

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const literals = ["null", "true", "false", "NaN", "Infinity", "-Infinity"]

const fail = (message: string, position: number): Mistake => ({ message, position })

/** Scans the text like CPython, with an explicit stack, so that deep nesting is harmless. */
const findMistake = (text: string): Mistake => {
  let at = 0
  const end = text.length
  const skipSpace = () => {
    while (at < end && " \t\n\r".includes(text[at]!)) at++
  }

  /** From the opening quote; returns the error, or undefined with `at` after the closing quote. */
  const scanString = (): Mistake | undefined => {
    const begin = at++
    for (;;) {
      if (at >= end) return fail("Unterminated string starting at", begin)
      const char = text[at]!
      if (char === '"') {
        at++
        return undefined
      }
      if (char <= "\u001f") return fail("Invalid control character at", at)
      if (char !== "\\") {
        at++
        continue
      }
      const escape = text[at + 1]
      if (escape === undefined) return fail("Unterminated string starting at", begin)
      if (escape === "u") {
        if (at + 6 >= end || !/^[0-9a-fA-F]{4}$/.test(text.slice(at + 2, at + 6))) {
          return fail("Invalid \\uXXXX escape", at + 1)
        }
        at += 6
      } else if ('"\\/bfnrt'.includes(escape)) {
        at += 2
      } else {
        return fail("Invalid \\escape", at)
      }
    }
  }

  const scanKey = (): Mistake | undefined => {
    if (text[at] !== '"') return fail("Expecting property name enclosed in double quotes", at)
    const mistake = scanString()
    if (mistake !== undefined) return mistake
    skipSpace()
    if (text[at] !== ":") return fail("Expecting ':' delimiter", at)
    at++
    skipSpace()
    return undefined
  }

  const open: Array<"{" | "["> = []
  skipSpace()
  for (;;) {
    // A value starts here.
    const char = text[at]
    if (char === "{" || char === "[") {
      at++
      skipSpace()
      if (text[at] === (char === "{" ? "}" : "]")) {
        at++
      } else {
        open.push(char)
        const mistake = char === "{" ? scanKey() : undefined
        if (mistake !== undefined) return mistake
        continue
      }
    } else if (char === '"') {
      const mistake = scanString()
      if (mistake !== undefined) return mistake
    } else {
      const literal = literals.find((word) => text.startsWith(word, at))
      number.lastIndex = at
      const length = literal?.length ?? number.exec(text)?.[0].length
      if (length === undefined) return fail("Expecting value", at)
      at += length
    }
    // A value ended here: close containers, then continue with the next value.
    for (;;) {
      const container = open.at(-1)
      skipSpace()
      if (container === undefined) return fail("Extra data", at)
      if (text[at] === (container === "{" ? "}" : "]")) {
        at++
        open.pop()
        continue
      }
      if (text[at] !== ",") return fail("Expecting ',' delimiter", at)
      at++
      skipSpace()
      const mistake = container === "{" ? scanKey() : undefined
      if (mistake !== undefined) return mistake
      break
    }
  }
}
