/** Counts words, sentences and paragraphs for checkers, and compares a count with a number. */
import { Schema } from "effect"
import { saysSomething } from "./Constraint.ts"

/** `1 word`, `2 words`. */
export const plural = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? "" : "s"}`

export const Count = Schema.Natural
export const Quantifier = Schema.Literals(["at least", "around", "at most"])
export type Quantifier = typeof Quantifier.Type

/** Rounds halves to the even neighbour, as the data set's own checkers do. */
const roundHalfToEven = (value: number): number => {
  const floor = Math.floor(value)
  const rest = value - floor
  return rest === 0.5 ? floor + (floor % 2) : Math.round(value)
}

/** A tenth of the number, at least 1: the tolerance of "around" for words. */
export const tenth = (n: number): number => Math.max(1, roundHalfToEven(n * 0.1))

export const holds = (count: number, quantifier: Quantifier, n: number, tolerance: number): boolean =>
  quantifier === "at least" ? count >= n : quantifier === "at most" ? count <= n : Math.abs(count - n) <= tolerance

/** Words between white space; a bullet or a dash by itself does not count. */
export const words = (text: string): ReadonlyArray<string> => text.split(/\s+/).filter(saysSomething)

/** A word from its first letter or digit to its last. Linear in the word's length. */
export const bareWord = (word: string): string => /[\p{L}\p{N}](?:.*[\p{L}\p{N}])?/su.exec(word)?.[0] ?? ""

const abbreviated = "Dr|Mr|Ms|St|Mt|Ft|Fr|Jr|Sr|Mrs|Prof|Rev|Gen|Capt|Lt|Col|Sgt|Hon|vs"
const sentenceEnd = new RegExp(
  [
    `(?<![\\p{L}\\p{N}_]\\.[\\p{L}\\p{N}_]\\.)(?<!(?<![\\p{L}\\p{N}_])(?:(?:${abbreviated})\\.|No\\.(?=\\s\\d)))(?<=[.?!…]["'”)\\]*]{0,3})\\s`,
    `(?<=[。！？]["'”」』）]{0,3})(?!["'”」』）。！？])`
  ].join("|"),
  "u"
)

/**
 * Parts that end in `.`, `?`, `!` or `…` before white space ("e.g.", "Dr." and "Mrs." do not end one), or in `。`, and
 * contain a letter or digit.
 */
export const sentences = (text: string): ReadonlyArray<string> => text.split(sentenceEnd).filter(saysSomething)

/** Parts between blank lines that contain a letter or digit. */
export const paragraphs = (text: string): ReadonlyArray<string> =>
  text
    .split(/\n[^\S\n]*\n/)
    .map((part) => part.trim())
    .filter(saysSomething)

/** Counts `word` (or a phrase, with any white space between its words) as a separate word, ignoring case. */
export const occurrences = (text: string, word: string): number => {
  const pattern = word
    .trim()
    .split(/\s+/)
    .map((part) => RegExp.escape(part))
    .join(String.raw`\s{1,9}`)
  return text.match(new RegExp(`(?<![\\p{L}\\p{N}_])${pattern}(?![\\p{L}\\p{N}_])`, "giu"))?.length ?? 0
}
