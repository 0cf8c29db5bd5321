/**
 * Extracts the answer from a completion as the suite specifies; undefined if none.
 *
 * Only the text after the thinking is read, and only the end of a very long text.
 */
import * as ChoiceAnswer from "../verify/choice/Choice.ts"
import * as Thinking from "../kit/Thinking.ts"
import * as Boxed from "./Boxed.ts"
import type { Reading } from "./ScoreSpec.ts"

/**
 * Reads the letter of a line `ANSWER: B`, as inspect_ai does (`parse_answers` of its `multiple_choice`, MIT): the last
 * line with nothing else, or else the last `ANSWER: …` anywhere. Markup around it is ignored, and only a single valid
 * letter counts.
 * Marks around letters, digits, spaces and commas.
 */
const marked = [/\$([A-Za-z\d\s,]{1,120})\$/g, /\*\*([A-Za-z\d\s,]{1,120})\*\*/g]
const inside = /^[A-Za-z\d][A-Za-z\d ,]*$/
const bracketed = /(^|[:,])(\s{0,20})\(([A-Za-z\d])\)(?=\s{0,20}(?:,|\.|\n|$))/g

const unmarked = (text: string): string =>
  marked
    .reduce(
      (written, pattern) =>
        written.replaceAll(pattern, (whole, words: string) => (inside.test(words.trim()) ? words.trim() : whole)),
      text
    )
    .replaceAll(bracketed, "$1$2$3")

const onLine = /^ANSWER\s{0,20}:\s{0,20}([A-Za-z\d ,]{1,200}?)[^\S\n]{0,20}(?:\n|\.|$)/gim
const anywhere = /ANSWER\s{0,20}:\s{0,20}([A-Za-z\d ,]{1,200})(?:[^\w]|$)/gi

const readAnswerLine = (text: string, letters: ReadonlyArray<string>): string | undefined => {
  const plain = unmarked(text)
  const strict = Array.from(plain.matchAll(onLine))
  const found = (strict.length > 0 ? strict : Array.from(plain.matchAll(anywhere))).at(-1)?.[1]
  const tokens = (found ?? "")
    .trim()
    .toUpperCase()
    .split(",")
    .filter((token) => token !== "")
  const [only, ...more] = tokens
  return only !== undefined && more.length === 0 && letters.includes(only) ? only : undefined
}

/** Maximum characters, from the end, that patterns are matched against. */
const maxText = 50_000

export interface Choices {
  readonly letters: ReadonlyArray<string>
  readonly texts: ReadonlyArray<string>
}

const none: Choices = { letters: [], texts: [] }

const flagsOf = (flags = ""): string => Array.from(new Set(`g${flags}`)).join("")

const byPattern = (
  text: string,
  { flags, pattern, take = "last" }: Exclude<Reading, string>[number]
): string | undefined => {
  const found = Array.from(text.matchAll(new RegExp(pattern, flagsOf(flags))))
  const match = take === "first" ? found[0] : found.at(-1)
  if (match === undefined) return undefined
  const groups = match.slice(1)
  // A match whose groups are all empty is not an answer.
  const answer = groups.length === 0 ? match[0] : groups.find((group) => group !== undefined && group !== "")
  return answer?.trim()
}

const ways: {
  readonly [way in Extract<Reading, string>]: (text: string, choices: Choices) => string | undefined
} = {
  whole: (text) => text,
  /** The last non-empty line. */
  line: (text) =>
    text
      .split("\n")
      .findLast((line) => line.trim() !== "")
      ?.trim(),
  boxed: (text) => Boxed.last(text),
  math: Boxed.betweenDollars,
  boxed_or_math: (text) => Boxed.last(text) ?? Boxed.betweenDollars(text),
  tag: (text) => Thinking.taggedAnswer(text),
  /** The choice that the text announces (`ChoiceAnswer`). */
  announced: (text, { letters, texts }) => ChoiceAnswer.extractLabel(text, letters, texts)?.label,
  answer_line: (text, { letters }) => readAnswerLine(text, letters)
}

export const spoken = (completion: string): string => Thinking.visibleText(completion)

/** The answer in a text without thinking. */
export const read = (text: string, reading: Reading, choices: Choices = none): string | undefined => {
  const end = text.length > maxText ? text.slice(-maxText) : text
  if (typeof reading === "string") return ways[reading](end, choices)
  for (const one of reading) {
    const answer = byPattern(end, one)
    if (answer !== undefined) return answer
  }
  return undefined
}
