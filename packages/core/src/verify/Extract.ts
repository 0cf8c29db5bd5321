/**
 * Finds the answer in a completion.
 *
 * Looks only behind the last `</think>`. The last of these wins: `\boxed{…}` (boxes joined by commas or "and" are one list),
 * "the final answer is …", `#### …`. Without any of them, and only if asked to, the last formula between dollar signs or the like, then
 * the last number. One answer is returned, never a choice: an answer that lists candidates is compared as that list.
 * Linear in the text.
 */
import * as Scan from "./Scan.ts"

export interface Options {
  /** Whether only the text after the last `</think>` counts. */
  readonly splitsOnThinkTag: boolean
  /** More boxes than this in the answer part and there is no answer: guessing is not answering. */
  readonly maxBoxed: number
  /** What is taken where nothing marks the answer: nothing, the last formula, or failing that the last number too. */
  readonly unmarked: "none" | "formula" | "number"
}

export const defaultOptions: Options = { splitsOnThinkTag: true, maxBoxed: 6, unmarked: "number" }

/** As the original's Accuracy reward: boxed or announced answers only. */
export const accuracyOptions: Options = { ...defaultOptions, unmarked: "none" }

interface Found {
  readonly start: number
  readonly end: number
  readonly answer: string
}

/** What follows the last `</think>`; the whole text without one. An opened and never closed block leaves nothing. */
export const afterThinking = (text: string): string => {
  const close = text.lastIndexOf("</think>")
  if (close >= 0) return text.slice(close + "</think>".length)
  return /^\s*<think>/.test(text) ? "" : text
}

const box = /\\(?:boxed|fbox)\s*(?:\{|(?=\d))/g

/** How many boxes there are, closed or not. */
export const countBoxed = (text: string): number => text.match(/\\boxed|\\fbox/g)?.length ?? 0

/** Boxes with balanced braces, nested ones as part of the outer. */
export const boxes = (text: string): ReadonlyArray<Found> => {
  const found: Array<Found> = []
  let last = 0
  for (const match of text.matchAll(box)) {
    if (match.index < last) continue
    const open = match.index + match[0].length - 1
    if (text[open] !== "{") {
      const digits = /^\d/.exec(text.slice(open + 1, open + 2))?.[0] ?? ""
      last = open + 1 + digits.length
      found.push({ start: match.index, end: last, answer: digits })
      continue
    }
    const end = Scan.groupEnd(text, open)
    if (end !== undefined) {
      found.push({ start: match.index, end, answer: text.slice(open + 1, end - 1) })
      last = end
    } else if (found.length === 0) {
      // Cut off or mistyped: take the line.
      const rest = (/^[^\n$]*/.exec(text.slice(open + 1))?.[0] ?? "").replace(/\}?\s*$/, "")
      return [{ start: match.index, end: open + 1 + rest.length, answer: rest }]
    } else break
  }
  return found
}

const maxGap = 60

/** Between boxes of one list: punctuation, spacing, "and", a few words in `\text`, the name of the next value. */
const isConnector = (gap: string): boolean => {
  if (gap.length > maxGap) return false
  const bare = gap
    .replaceAll(/\\text\{[^{}]*\b(?:and|or)\b[^{}]*\}/g, ",")
    .replaceAll(/\\q?quad|\\[,;:!() \][]|\$|\s/g, " ")
    .replaceAll(/[a-zA-Z](?:_\{?\w+\}?)?\s*=\s*$/g, " ")
    .trim()
  return bare === "" || /^(?:[,;]|,?\s*(?:[a-zA-Z]+\s)?(?:and|or)|&)$/.test(bare)
}

/** The last box with the boxes it is listed with. */
const lastBoxes = (text: string): Found | undefined => {
  const found = boxes(text)
  let first = found.length - 1
  while (first > 0 && isConnector(text.slice(found[first - 1]!.end, found[first]!.start))) first -= 1
  const group = found.slice(Math.max(0, first))
  const last = group.at(-1)
  return last === undefined
    ? undefined
    : {
        start: group[0]!.start,
        end: last.end,
        answer: group.map(({ answer }) => answer).join(" , ") + percentAfter(text.slice(last.end, last.end + 20))
      }
}

const anchors =
  /\b(?:final answer|answer)s?\b(?:\s+to [^.\n:]{0,80})?[\s*]{0,8}(?:is|are|:|=)\s?:?|(?:^|\n)[ \t]{0,8}####/gi

/** A sentence's end: a period before space or the end of the text, a line break, or the phrase that few-shot prompts teach. */
const sentence = /^(?:[^\n.]|\.(?=\d))*/

const withoutMarkup = (text: string): string => text.replaceAll(/\*\*|^["'“\s:]+|["'”\s]+$/g, "")

/** The formula or number in the sentence after "the answer is". */
const lastAnchored = (text: string): Found | undefined => {
  const match = [...text.matchAll(anchors)].at(-1)
  if (match === undefined) return undefined
  const start = match.index + match[0].length
  const lead = /^\s*/.exec(text.slice(start))?.[0].length ?? 0
  const display = /^(?:\*\*|\s)*(?:\$\$|\\\[)/.test(text.slice(start))
  const rest = text.slice(start + lead, start + lead + 2_000)
  const stated = display
    ? (/^(?:\*\*|\s)*(\$\$[^$]*\$\$|\\\[[^]*?\\\])/.exec(rest)?.[1] ?? rest)
    : (sentence.exec(rest)?.[0] ?? "")
  // "Final answer: the largest $n$ is 34": the value is what is said of it.
  const value = withoutMarkup(stated.slice([...stated.matchAll(copula)].at(-1)?.index ?? 0).replace(copula, ""))
  const hasFormula = formulas(value).length > 0
  const answer = hasFormula ? joinFormulas(value) : isProse(value) ? lastNumber(value) : value
  return answer === undefined || answer.trim() === ""
    ? undefined
    : { start: match.index, end: start + lead + stated.length, answer }
}

/** The formula or number in the sentence before "I hope it is correct", which few-shot prompts teach models to close with. */
const lastStated = (text: string): string | undefined => {
  const end = text.lastIndexOf(". I hope it is correct")
  if (end < 0) return undefined
  const before = text.slice(Math.max(0, end - 500), end)
  const sentenceStart = Math.max(before.lastIndexOf(". "), before.lastIndexOf("\n")) + 1
  const stated = before.slice(sentenceStart)
  return formulas(stated).length > 0 ? joinFormulas(stated) : lastNumber(stated)
}

const copula = /\b(?:is|are|equals)\b(?![^$]*\$[^$]*$)/gi

/** Whether words stand side by side outside of `\text{…}`. */
const isProse = (text: string): boolean =>
  /[a-zA-Z'’]{2,}\s+[a-zA-Z'’]{2,}\s+[a-zA-Z'’]{2,}/.test(text.replaceAll(/\\text\w*\{[^{}]*\}|\\[a-zA-Z]+/g, " \\ "))

const formula =
  /(?<!\\)\$\$([^$]+)(?<!\\)\$\$|(?<!\\)\$((?:[^$\n\\]|\\[^\n])+)\$|\\\[([^]{1,2000}?)\\\]|\\\(([^\n]{1,2000}?)\\\)/g

/** Formulas between `$…$` (on one line), `$$…$$`, `\(…\)` and `\[…\]`. */
export const formulas = (text: string): ReadonlyArray<Found> =>
  [...text.matchAll(formula)]
    .map((match) => ({
      start: match.index,
      end: match.index + match[0].length,
      answer: match[1] ?? match[2] ?? match[3] ?? match[4] ?? ""
    }))
    .filter(({ answer }) => answer.trim() !== "")

/** A percent sign or word that stands just outside of the formula or box. */
const percentAfter = (rest: string): string => (percent.test(rest) ? " \\% " : "")

const percent = /^\s*\$?\s*(?:percent(?:age)?|pct|%|\\%)(?![a-zA-Z])/i

/** The last formula with those that are listed with it, and a unit or percent sign that stands outside. */
const joinFormulas = (text: string): string | undefined => {
  const found = formulas(text)
  const last = found.at(-1)
  if (last === undefined) return undefined
  let first = found.length - 1
  while (first > 0 && isList(text.slice(found[first - 1]!.end, found[first]!.start))) first -= 1
  const list = found.slice(first).map(({ answer }) => answer)
  return list.join(" , ") + percentAfter(text.slice(last.end, last.end + 20))
}

const isList = (gap: string): boolean => /^\s*(?:,|;|and|or|,\s*and|,\s*or)\s*$/.test(gap)

const numbers =
  /(?<![\w.\\])[-+]?(?:\\?\$|€|£)?\s?(?:\d{1,3}(?:,\d{3})+(?![\d,])(?:\.\d+)?|\d+\s*\/\s*\d+|\d+,\d+(?![\d,])|\d+(?:\.\d+)?|\.\d+)(?:\s*(?:\\?%|percent(?:age)?\b|pct\b))?/g

/** The last number in plain text, with sign, currency and percent sign. */
export const lastNumber = (text: string): string | undefined => [...text.matchAll(numbers)].at(-1)?.[0]

const maxBare = 300

/** Whether there is a word that is no name of a function or constant. */
const hasWord = (text: string): boolean =>
  /[a-zA-Z]{4,}/.test(
    text.replaceAll(/\\text\w*\{[^{}]*\}|\\[a-zA-Z]+|\b(?:arc(?:sin|cos|tan)|sqrt|frac|infinity)\b/g, " ")
  )

/** Unmarked answers are looked for in the end of the text only, this many characters. */
const tail = 20_000

/** A short text that is nothing but an answer, else the last formula, else the last number; a number that ends the text comes first. */
const lastUnmarked = (text: string, allowsNumbers: boolean): string | undefined => {
  const trimmed = text.slice(-tail).trim()
  const formulaAnswer = joinFormulas(trimmed)
  if (!allowsNumbers) return formulaAnswer
  const numberAnswer = lastNumber(trimmed)
  const endsText =
    numberAnswer !== undefined &&
    /[a-zA-Z] \S{1,40}$/.test(trimmed.replace(/\.$/, "")) &&
    trimmed.replace(/\.$/, "").endsWith(numberAnswer)
  if (formulaAnswer !== undefined) return endsText ? numberAnswer : formulaAnswer
  const isBare =
    trimmed.length <= maxBare &&
    !trimmed.includes("\n") &&
    !isProse(trimmed) &&
    !hasWord(trimmed) &&
    /\d|\\/.test(trimmed)
  return isBare ? trimmed : numberAnswer
}

/** The answer in a reference solution: what follows the last `####`, else what is boxed, else the whole text. */
export const extractReference = (reference: string): string => {
  const marker = reference.lastIndexOf("####")
  if (marker >= 0) return reference.slice(marker + 4).trim()
  return lastBoxes(reference)?.answer ?? reference
}

/** The answer in a completion, as it is written there; undefined where there is none. */
export const extract = (completion: string, options: Partial<Options> = {}): string | undefined => {
  const { splitsOnThinkTag, maxBoxed, unmarked } = { ...defaultOptions, ...options }
  const text = splitsOnThinkTag ? afterThinking(completion) : completion
  if (countBoxed(text) > maxBoxed) return undefined
  const boxed = lastBoxes(text)
  const anchored = lastAnchored(boxed === undefined ? text : text.slice(boxed.end))
  const found = anchored ?? boxed
  if (found !== undefined) return found.answer.trim() === "" ? undefined : found.answer
  return unmarked === "none" ? undefined : (lastStated(text) ?? lastUnmarked(text, unmarked === "number"))
}
