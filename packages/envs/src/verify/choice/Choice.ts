/**
 * Finds the chosen letter (A, B, …) or number (1, 2, …) of a multiple-choice question in a completion.
 *
 * Considers the text after the last `</think>`. The last complete `<answer>` tag or box, if any, is the answer; several
 * in a row, or a tag and a box, must all agree, words around a box may refuse it (`Boxes.last`), and the text after
 * them may take it back ("Wait, it is C"). Otherwise it is the choice that the text claims (`ChoiceClaims`), never a
 * letter that occurs somewhere. If several choices could be meant, or one is only denied, asked about, supposed or
 * quoted, the answer is missing: guessing, as the original does, rewards chance.
 */
import * as Boxes from "../text/Boxes.ts"
import { type Claim, claimOf, type Strength } from "./ChoiceClaims.ts"
import { type Choices, choicesOf } from "./ChoiceTokens.ts"
import { accuracyOptions, afterThinking } from "../text/Extract.ts"
import * as Retraction from "../text/Retraction.ts"

/** Source of the choice: a tag or a box, or a claim of the text. */
export type Method = "tag" | "boxed" | Strength

export interface Choice {
  /** The label as in the question: `B`, or `2`. */
  readonly label: string
  readonly method: Method
}

interface Marked {
  readonly start: number
  readonly end: number
  readonly answer: string
}

/** Characters from the end that are searched for tags and boxes, and those that are parsed for statements. */
const maxText = 50_000
const maxProse = 10_000

/** The end of a text, from the beginning of a line if possible: a truncated statement may have another meaning. */
const tailOf = (text: string, length: number): string => {
  if (text.length <= length) return text
  const line = text.indexOf("\n", text.length - length)
  return line === -1 ? text.slice(-length) : text.slice(line + 1)
}

const tag = /<answer>([^<]{0,2000})<\/answer>/gi

const tagged = (text: string): ReadonlyArray<Marked> =>
  Array.from(text.matchAll(tag), (match) => ({
    start: match.index,
    end: match.index + match[0].length,
    answer: match[1] ?? ""
  }))

const boxed = (text: string): ReadonlyArray<Marked> => Boxes.all(text).filter(({ end }) => text[end - 1] === "}")

/** Between tags or boxes of one list: only punctuation, dollars and "and" or "or". */
const isJoined = (gap: string): boolean =>
  gap.length <= 60 && /^[\s$.,;:&/*()]*(?:(?:and|or|and\/or)[\s$.,;:&/*()]*)?$/i.test(gap)

/** The last tag or box, with those it is listed with. */
const lastOf = (text: string, marks: ReadonlyArray<Marked>): ReadonlyArray<Marked> => {
  let first = marks.length - 1
  while (first > 0 && isJoined(text.slice(marks[first - 1]?.end, marks[first]?.start))) first -= 1
  return marks.slice(Math.max(0, first))
}

/**
 * The choice among `labels`; `texts` are the choices' texts, in the same order. Undefined if no choice, or more than
 * one, is stated.
 */
export const extractLabel = (
  completion: string,
  labels: ReadonlyArray<string>,
  texts: ReadonlyArray<string> = []
): Choice | undefined => {
  const text = tailOf(afterThinking(completion), maxText)
  if (Boxes.count(text) > accuracyOptions.maxBoxed) return undefined
  const choices = choicesOf(labels, texts)
  const [tags, frames] = [lastOf(text, tagged(text)), lastOf(text, boxed(text))]
  if (tags.length > 0 || frames.length > 0) {
    const claims = [...tags, ...frames].map(({ answer }) => claimIn(answer, choices))
    const [first] = claims
    if (first !== undefined && claims.every((claim) => claim?.place === first.place)) {
      if (tags.length === 0 && isRefused(text, frames)) return undefined
      const after = text.slice(Math.max(tags.at(-1)?.end ?? 0, frames.at(-1)?.end ?? 0))
      if (isTakenBack(after, first, choices)) return undefined
      return { label: labels[first.place] ?? "", method: tags.length > 0 ? "tag" : "boxed" }
    }
    // A box may contain a step instead of a choice; a tag contains the answer.
    if (tags.length > 0 || frames.some(({ answer }) => mentions(answer, choices))) return undefined
  }
  const prose = tailOf(text, maxProse)
  const claim = claimOf(prose, choices)
  const label = labels[claim?.place ?? -1] ?? ""
  return claim === undefined || isOffered(prose, label) ? undefined : { label, method: claim.strength }
}

/** `\boxed{B} or C`. */
const alternative = /^[\s$*).,]{0,9}(?:or|and\/or)\s{1,3}(?:option\s)?["'(*$]{0,4}[A-Z](?![\p{L}\p{N}])/u

/** True if the text after a tag or box denies its choice, or puts another one in its place. */
const isTakenBack = (after: string, { place }: Claim, choices: Choices): boolean => {
  const label = choices.labels[place] ?? ""
  if (Retraction.follows(`. ${after}`, label)) return true
  const text = after.slice(0, maxProse)
  if (isOffered(text, label)) return true
  const last = /(?<![\p{L}\p{N}])([\p{L}\p{N}]{1,3})[\s.!*_)]{0,9}$/u.exec(text.slice(-20))?.[1]
  return [text, `The answer is ${label}. ${text}`].some((one) => {
    const claim = claimOf(one, choices)
    // "C: Berlin is in Germany" explains a choice, "Wait, C." states it.
    const isStated = claim !== undefined && (claim.strength !== "alone" || choices.labels[claim.place] === last)
    return isStated && claim.place !== place
  })
}

/** True if words around a box deny it, hedge it or take it back. */
const isRefused = (text: string, frames: ReadonlyArray<Marked>): boolean =>
  Boxes.last(text) === undefined || alternative.test(text.slice(frames.at(-1)?.end))

const offer =
  /(?<!\p{L})(?:(?:could|might|may)\s(?:(?:also|well|just\sas\swell|possibly|even)\s){0,2}be|[oO]r\s(?:maybe|perhaps|possibly|(?:is|was)\s(?:it|that)|(?:could|might)\s(?:it|that)\sbe))\s(?:option\s|choice\s)?["'(*]{0,4}([A-Z\d])(?![\p{L}\p{N}])/gu

/** True if another choice is offered after the last mention of this one: "it could also be C". */
const isOffered = (text: string, label: string): boolean => {
  const last = [...text.matchAll(offer)].findLast(([, other]) => other !== label)
  return (
    last !== undefined &&
    !text
      .slice(last.index)
      .split(/[^\p{L}\p{N}]+/u)
      .includes(label)
  )
}

const maxMarked = 2_000

/** What a tag or a box claims; it need not say that "(B) London" is the answer. */
const claimIn = (answer: string, choices: Choices): Claim | undefined => {
  if (answer.length > maxMarked) return undefined
  const bare = answer.replaceAll(frames, " ").trim()
  return claimOf(bare, choices) ?? (bare.includes("\n") ? undefined : claimOf(`The answer is ${bare}`, choices))
}

/** Commands around a choice, with the text in them: `\text{(B) Paris}`. */
const frames = /\\(?:boxed|fbox)\s*\{|\\(?:text\w*|mathrm|mathbf|mbox)\s*\{(?=[^{}]*\s[^{}]*\})|(?<=\s[^{}]{0,200})\}/g

/** True if a label occurs anywhere in a text. */
const mentions = (text: string, { labels }: Choices): boolean =>
  text.split(/[^\p{L}\p{N}]+/u).some((word) => /^[A-Z]$/.test(word) || labels.includes(word))

/** The chosen letter among `choices` (texts, or their number): A is the first. */
export const extract = (completion: string, choices: number | ReadonlyArray<string>): Choice | undefined => {
  const count = typeof choices === "number" ? choices : choices.length
  const labels = Array.from({ length: Math.min(count, 26) }, (_, i) => String.fromCharCode(65 + i))
  return extractLabel(completion, labels, typeof choices === "number" ? [] : choices)
}

/** True if the completion chooses `gold`; false without a choice. */
export const grade = (gold: string, completion: string, choices: number | ReadonlyArray<string>): boolean =>
  extract(completion, choices)?.label === gold.trim().toUpperCase()
