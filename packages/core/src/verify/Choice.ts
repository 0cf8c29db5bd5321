/**
 * Finds the chosen letter (A, B, …) or number (1, 2, …) of a multiple-choice question in a completion.
 *
 * Looks behind the last `</think>`. An `<answer>` tag is read first, then "the final answer is B" and its kin, strongest form first, then a letter that
 * stands alone on a line. Where several choices could be meant there is no answer: a guess among letters that occur somewhere in
 * the text, as the original makes (Q-73 of its quirks), is a reward for chance.
 */
import { afterThinking } from "./Extract.ts"

/** How the choice was found, strongest first. */
export type Method =
  | "tagExact"
  | "tagText"
  | "tagWord"
  | "boxed"
  | "finalAnswer"
  | "theAnswer"
  | "answerColon"
  | "announcedText"
  | "start"
  | "line"
  | "onlyLabel"

export interface Choice {
  /** The label as the question has it: `B`, or `2`. */
  readonly label: string
  readonly method: Method
}

const leadIn =
  /^(?:(?:so|thus|therefore|hence)[,\s]+)?(?:(?:i (?:think|believe|choose|pick|would say|say)(?: that)?(?: it(?:'s| is))?|(?:the |my )?(?:(?:final|correct|best|right) )?(?:answer|choice|option)(?: is|:)?|it(?:'s| is))\s*)+:?\s*/i

const edges = /^[\s.,)(:;!?*"'`[\]{}$]+|[\s.,)(:;!?*"'`[\]{}$]+$/g

const strip = (text: string): string => text.trim().replace(leadIn, "").replaceAll(edges, "")

const escape = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&")

const words = (text: string): string => text.toLowerCase().replaceAll(/\s+/g, " ").trim()

/** The labels that stand as words of their own. */
const standing = (text: string, labels: ReadonlyArray<string>): ReadonlyArray<string> =>
  labels.filter((label) => new RegExp(`(?<![\\w'’])${escape(label)}(?![\\w'’])`).test(text))

const findLabel = (text: string, labels: ReadonlyArray<string>): string | undefined =>
  labels.find((label) => label.toLowerCase() === text.toLowerCase())

/** The one choice whose text is `answer`, or is contained in it, or follows its label in it. */
const byText = (answer: string, labels: ReadonlyArray<string>, texts: ReadonlyArray<string>): string | undefined => {
  const given = words(answer)
  const isAbout = (test: (text: string, label: string) => boolean) =>
    labels.filter((label, i) => {
      const text = words(texts[i] ?? "")
      return text !== "" && test(text, label.toLowerCase())
    })
  const equal = isAbout(
    (text, label) => given === text || given.replace(new RegExp(`^${escape(label)}[\\s.):-]+`), "") === text
  )
  if (equal.length === 1) return equal[0]
  const contained = isAbout((text) => text.length >= 3 && given.includes(text))
  return contained.length === 1 ? contained[0] : undefined
}

const fromTag = (answer: string, labels: ReadonlyArray<string>, texts: ReadonlyArray<string>): Choice | undefined => {
  const stripped = strip(answer)
  const exact = findLabel(stripped, labels)
  if (exact !== undefined) return { label: exact, method: "tagExact" }
  const named = byText(stripped, labels, texts)
  if (named !== undefined) return { label: named, method: "tagText" }
  const found = standing(stripped, labels)
  return found.length === 1 && found[0] !== undefined ? { label: found[0], method: "tagWord" } : undefined
}

/** Announcements, strongest first; the last one of the strongest kind counts. */
const announcements = (label: string): ReadonlyArray<readonly [method: Method, pattern: RegExp]> => {
  const choice = `[\\s*"'(\\[{$]{0,4}(?:option|choice)?[\\s*"'(\\[{$]{0,4}(${label})(?![\\w'’])`
  return [
    ["boxed", new RegExp(`\\\\boxed\\{\\s{0,9}(?:\\\\text\\w{0,9}\\{)?\\s{0,9}\\(?(${label})(?![\\w'’])`, "g")],
    [
      "finalAnswer",
      new RegExp(`\\b(?:final|correct) (?:answer|choice|option)[\\s*]{0,4}(?:is|:)[\\s:]{0,3}${choice}`, "gi")
    ],
    ["theAnswer", new RegExp(`\\b(?:the|my) (?:answer|choice) is[\\s:]{0,3}${choice}`, "gi")],
    ["answerColon", new RegExp(`\\banswer[\\s*]{0,4}(?:is|:)?[\\s:*]{0,4}${choice}`, "gi")],
    ["start", new RegExp(`^[\\s*(\\[]{0,6}(${label})(?=[\\s.):,*\\]]|$)(?!\\s+[a-z])`, "g")],
    ["line", new RegExp(`^[ \\t*(\\[]{0,6}(${label})[).:*\\]]{0,4}[ \\t]*$`, "gm")]
  ]
}

/** "The answer is a dog" is not about A. */
const isArticle = ({ 0: whole, 1: label = "", index, input }: RegExpExecArray): boolean =>
  /^[a-z]$/.test(label) && /^\s+\p{L}/u.test(input.slice(index + whole.length, index + whole.length + 20))

/** "B or C", "B, C": one of them is announced, and another in the same breath. */
const isHedged = ({ 0: whole, index, input }: RegExpExecArray, another: RegExp): boolean =>
  another.test(input.slice(index + whole.length, index + whole.length + 40))

const announced = /\b(?:answer|choice|option)[\s*]{0,4}(?:is|:)[\s:*"'(]{0,4}([^\n]{1,300})/gi

/** The choice whose text the last "the answer is …" begins with; of two, the longer. */
const announcedText = (
  text: string,
  labels: ReadonlyArray<string>,
  texts: ReadonlyArray<string>
): string | undefined => {
  const given = words([...text.matchAll(announced)].at(-1)?.[1] ?? "")
  const named = labels
    .map((label, i) => ({ label, said: words(texts[i] ?? "") }))
    .filter(
      ({ said }) => said !== "" && given.startsWith(said) && !/^(?:[\p{L}\p{N}]|[.,]\d)/u.test(given.slice(said.length))
    )
    .toSorted((a, b) => b.said.length - a.said.length)
  return named[0]?.said === named[1]?.said ? undefined : named[0]?.label
}

const maxText = 50_000

const tag = /<answer>([^<]{0,2000})<\/answer>/i

/** The choice among `labels`; `texts` are what the choices say, in the same order. Undefined where nothing, or more than one thing, is said. */
export const extractLabel = (
  completion: string,
  labels: ReadonlyArray<string>,
  texts: ReadonlyArray<string> = []
): Choice | undefined => {
  const text = afterThinking(completion).slice(-maxText)
  const tagged = tag.exec(text)
  if (tagged !== null) return fromTag(tagged[1] ?? "", labels, texts)
  const anyLabel = labels
    .map(escape)
    .toSorted((a, b) => b.length - a.length)
    .join("|")
  // In the question's own writing: "B, a dog" is not about A.
  const another = new RegExp(
    `^[\\s*"')\\]}$.]{0,4}(?:[,/&]|or|and)(?: or| and)?[\\s*"'(\\[{$]{0,4}(?:${anyLabel})(?![\\w'’])`
  )
  for (const [method, pattern] of announcements(anyLabel)) {
    if (method === "start") {
      const named = announcedText(text, labels, texts)
      if (named !== undefined) return { label: named, method: "announcedText" }
    }
    const matches = [...text.matchAll(pattern)].filter((match) => !isArticle(match))
    const last = matches.at(-1)
    if (last !== undefined && method !== "line" && isHedged(last, another)) return undefined
    const found = matches.flatMap((match) => match[1] ?? [])
    const label = method === "line" && new Set(found).size > 1 ? undefined : findLabel(found.at(-1) ?? "", labels)
    if (label !== undefined) return { label, method }
  }
  // "A" is also an article: it stands for a choice only with punctuation or nothing around it.
  const alone = standing(text.replaceAll(/\bA\s+(?=[a-z])/g, " "), labels)
  return alone.length === 1 && alone[0] !== undefined ? { label: alone[0], method: "onlyLabel" } : undefined
}

/** The chosen letter, where there are `choices` of them (texts, or how many): A is the first. */
export const extract = (completion: string, choices: number | ReadonlyArray<string>): Choice | undefined => {
  const count = typeof choices === "number" ? choices : choices.length
  const labels = Array.from({ length: Math.min(count, 26) }, (_, i) => String.fromCharCode(65 + i))
  return extractLabel(completion, labels, typeof choices === "number" ? [] : choices)
}

/** The chosen number from 1 to `count`, as its text. */
export const extractNumber = (completion: string, count: number): Choice | undefined =>
  extractLabel(
    completion,
    Array.from({ length: count }, (_, i) => String(i + 1))
  )

/** Whether the completion chooses `gold`; false where it chooses nothing. */
export const grade = (gold: string, completion: string, choices: number | ReadonlyArray<string>): boolean =>
  extract(completion, choices)?.label === gold.trim().toUpperCase()
