/**
 * Finds the answer in a completion.
 *
 * Considers only the text after the last `</think>`, excluding reasoning that is opened later. A box, if any, is the
 * answer, regardless of following text (`Boxes`); else the last of "the final answer is …" and `#### …`; else, only if
 * requested, the last formula between dollar signs or the like, then the last number. A value that its own sentence
 * denies or leaves open ("is certainly not 5", "is 5 or maybe 6") is not an answer. An answer that lists candidates is
 * compared as that list, never as a choice. Linear in the text.
 */
import * as ExactJson from "@atropos/core/base/json/ExactJson"
import { Predicate, Result } from "effect"
import * as Announcement from "./Announcement.ts"
import * as Boxes from "./Boxes.ts"
import * as Formulas from "./Formulas.ts"
import * as Prose from "./Prose.ts"
import * as Retraction from "./Retraction.ts"
import * as Signs from "./Signs.ts"
import * as Wording from "./Wording.ts"

export interface Options {
  /** True if only the text after the last `</think>` counts. */
  readonly splitsOnThinkTag: boolean
  /** Maximum boxes in the answer part: guessing does not count. */
  readonly maxBoxed: number
  /** True if an answer needs a box. */
  readonly needsBox: boolean
  /** The fallback if nothing marks the answer: none, the last formula, or also the last number. */
  readonly unmarked: "none" | "formula" | "number"
}

/** Default options, like the original's Accuracy reward: boxed or announced answers only. */
export const accuracyOptions: Options = { splitsOnThinkTag: true, maxBoxed: 6, needsBox: false, unmarked: "none" }

/** For prompts that give no credit to answers without a box. */
export const boxedOptions: Options = { ...accuracyOptions, needsBox: true }

const special = /(?:<\|[\w-]{1,40}\|>|<\/s>|<eos>|<end_of_turn>)\s{0,9}$/

/** The text without the special tokens that some servers return at its end. */
const withoutSpecial = (text: string): string => {
  let end = text.length
  const last = () => special.exec(text.slice(Math.max(0, end - 60), end))
  for (let match = last(); match !== null; match = last()) end -= match[0].length
  return text.slice(0, end)
}

/**
 * The text after the last `</think>`, up to reasoning that is opened and never closed; the whole text without any
 * reasoning.
 */
export const afterThinking = (text: string): string => {
  const close = text.lastIndexOf("</think>")
  const spoken = close >= 0 ? text.slice(close + "</think>".length) : text
  const open = spoken.indexOf("<think>")
  return withoutSpecial(open >= 0 ? spoken.slice(0, open) : spoken)
}

/** The formula or number in the sentence before "I hope it is correct", which models learn from few-shot prompts. */
const lastStated = (text: string): string | undefined => {
  const end = text.lastIndexOf(". I hope it is correct")
  if (end < 0) return undefined
  const before = text.slice(Math.max(0, end - 500), end)
  const sentenceStart = Math.max(before.lastIndexOf(". "), before.lastIndexOf("\n")) + 1
  const stated = before.slice(sentenceStart)
  return Formulas.all(stated).length > 0 ? Formulas.lastJoined(stated) : Prose.lastNumber(stated)
}

const maxBare = 300

/** True if a text has nothing but a number and what emphasizes, quotes or points to it. */
const isDecorated = (text: string, number: string): boolean =>
  text.length <= maxBare &&
  /^(?:[\s*_`"'“”‘’>#=≈~→•…。，、．.!！:：;；]|<\/?b>)*$/.test(
    text.replace(number, "").replaceAll(/^\[|\]$|^\(|\)$/g, "")
  )

/** Unmarked answers are only searched in this many characters at the end of the text. */
const tail = 20_000

/**
 * A short text that is only an answer, else the last formula, else the last number; a number at the end of the text
 * takes precedence.
 */
const lastUnmarked = (text: string, allowsNumbers: boolean): string | undefined => {
  const trimmed = text.slice(-tail).trim()
  const formulaAnswer = Formulas.lastJoined(trimmed)
  if (!allowsNumbers) return formulaAnswer
  const numberAnswer = Prose.lastNumber(trimmed)
  const endsText =
    numberAnswer !== undefined &&
    /[a-zA-Z] \S{1,40}$/.test(trimmed.replace(/\.$/, "")) &&
    trimmed.replace(/\.$/, "").endsWith(numberAnswer)
  if (formulaAnswer !== undefined) return endsText ? numberAnswer : formulaAnswer
  if (numberAnswer !== undefined && isDecorated(trimmed, numberAnswer)) return numberAnswer
  const isBare =
    trimmed.length <= maxBare &&
    !trimmed.includes("\n") &&
    !Prose.isProse(trimmed) &&
    !Prose.hasWord(trimmed) &&
    /\d|\\/.test(trimmed)
  return isBare ? trimmed : numberAnswer
}

/** The line after the last `####`, the next non-empty one, or what it announces; not a heading above a box. */
const hashed = (reference: string): string | undefined => {
  const marker = reference.lastIndexOf("####")
  const behind = marker < 0 ? "" : reference.slice(marker + 4)
  const [line = ""] = behind.replace(/^[\s#]+(?:(?:final )?answer:?\s*\n\s*)?/i, "").split("\n", 1)
  return Boxes.count(behind) > 0 || line === "" ? undefined : Announcement.last(line) || line.trim()
}

/** Max characters of a JSON object that holds an answer. */
const maxObject = 4_000

const tag = /<answer>([^<]{1,2000})<\/answer>/gi

/** A list of strings, as in columns that hold lists: `['5']`, `["\\frac{1}{2}", "3"]`. */
const stringList =
  /^\s*\[\s*(?:'[^']{1,500}'|"[^"]{1,500}")(?:\s*,\s*(?:'[^']{1,500}'|"[^"]{1,500}")){0,50}\s*(?:,\s*)?\]\s*$/
const bold = /^\s*\*\*([^*\n]{1,300})\*\*\s*$/

/** The only number of a list: `[18]`. */
const oneNumber = /^\s*\[\s*(-?\d+(?:\.\d+)?)\s*\]\s*$/
/** "A: 18", "Ans. 42", "答案：18"; a single letter only before a value. */
const labelled =
  /^\s*(?:\*\*|__)?(?:(?:(?:the|my)\s)?(?:(?:final|correct)\s)?(?:ans|answer|solution|result)\s?[:=.：]|【答案】|(?:答案|答え|答|정답|ответ|respuesta|réponse|antwort|risposta|resposta)\s?[:：]|A[:.：](?=\s{0,3}(?:\*\*|__)?\s{0,3}[-\d$\\(.]))(?:\*\*|__)?\s{0,3}(\S[^\n]{0,300})$/iu
const answerKey = /^(?:final_?|correct_?)?(?:answer|solution|result|value|label|target|ground_?truth|output)$/i

/** The answer in a JSON object, `{"answer": 18}`: of the key that names it, or of the only one. */
const inObject = (reference: string): { readonly answer: string | undefined } | undefined => {
  if (!/^\s*\{\s*"/.test(reference) || reference.length > maxObject) return undefined
  const parsed = Result.getOrUndefined(Result.try(() => ExactJson.parseWritten(reference)))
  if (!Predicate.isReadonlyObject(parsed)) return undefined
  const entries = Object.entries(parsed)
  const [[, value] = [], ...more] = entries.length === 1 ? entries : entries.filter(([key]) => answerKey.test(key))
  if (more.length > 0 || value === undefined) return { answer: undefined }
  return { answer: typeof value === "string" ? value : ExactJson.write(value) }
}

/** The answer of a completion that is a JSON object, perhaps in a fence: `{"reasoning": "…", "answer": 5}`. */
const inObjectAlone = (text: string): string | undefined => {
  const trimmed = text.trim()
  const fence = /^```(?:json)?/i.exec(trimmed)?.[0] ?? ""
  const inside = fence !== "" && trimmed.endsWith("```") ? trimmed.slice(fence.length, -3) : trimmed
  return /"(?:final_?)?answer"\s{0,9}:/i.test(inside) ? inObject(inside)?.answer : undefined
}

/** True for a JSON object in which no one key names the answer. */
export const isUnreadable = (reference: string): boolean => {
  const object = inObject(reference)
  return object !== undefined && object.answer === undefined
}

/** What marks a reference as rounded, before a number or after a name: `\approx 3.14`, "about 34". */
const rounded =
  /^(\s{0,9}\$?\s{0,9}(?:[a-zA-Z]\s?)?)(?:\\approx(?![a-zA-Z])|≈|~|\\sim(?![a-zA-Z])|(?:\\text\s?\{\s?)?(?:approximately|approx\.?|about|roughly|around)(?![a-zA-Z])(?:\s?\})?)\s{0,9}(?=\\?[$€£]?\s?-?[\d.\\])/i

/** What marks an answer as rounded, before a decimal: `\approx 3.14`, "approximately 3.14"; "about" hedges. */
const approximated =
  /^[\s$]{0,5}(?:\\(?:approx|sim)(?![a-zA-Z])|≈|(?:\\text\s?\{\s{0,3})?(?:approximately|approx\.?)(?![a-zA-Z])(?:\s{0,3}\})?)[\s$]{0,5}(?=(?:\\?[$€£]\s?)?-?[\d,]{0,20}\.\d)/i

/** A reference without what a column's form adds to it. */
const unwrapped = (reference: string): string => {
  const object = inObject(reference)?.answer
  if (object !== undefined) return unwrapped(object)
  const [, value] = oneNumber.exec(reference) ?? labelled.exec(reference) ?? []
  if (value !== undefined) return unwrapped(value)
  if (stringList.test(reference)) {
    const strings = [...reference.matchAll(/'([^']+)'|"([^"]+)"/g)]
    return strings.map(([, single, double]) => (single ?? double ?? "").replaceAll("\\\\", "\\")).join(" , ")
  }
  const thinkEnd = reference.lastIndexOf("</think>")
  return thinkEnd === -1 ? (bold.exec(reference)?.[1] ?? reference) : reference.slice(thinkEnd + "</think>".length)
}

/**
 * The answer in a reference solution: the line after the last `####`, else the boxed one (closed or not), else the last
 * `<answer>`, else the announced one ("The answer is: 18"), else the whole text.
 */
export const extractReference = (reference: string): string => {
  const written = Signs.ascii(unwrapped(reference))
  const found =
    hashed(written) ??
    Boxes.unbraced(written) ??
    Boxes.lastGroup(written)?.answer ??
    Boxes.unclosed(written) ??
    [...written.matchAll(tag)].at(-1)?.[1]?.trim() ??
    Announcement.last(written)
  const answer = found === undefined || found.trim() === "" ? written : (bold.exec(found)?.[1] ?? found)
  return answer.replace(rounded, (_, before: string) => (/[a-zA-Z]/.test(before) ? `${before}=` : before))
}

const isOpenBefore = (before: string): boolean =>
  Wording.isDeniedBy(before) || Wording.isOneOfSeveral(Wording.clauseBefore(before))

/** The unmarked answer, unless the words before it deny it or leave it open. */
const unmarkedIn = (text: string, allowsNumbers: boolean): string | undefined => {
  const answer = lastStated(text) ?? lastUnmarked(text, allowsNumbers)
  const at = answer === undefined ? -1 : text.lastIndexOf(answer)
  return at >= 0 && isOpenBefore(text.slice(Math.max(0, at - 300), at)) ? undefined : answer
}

/** What the last `<answer>` states; empty if the text takes it back. */
const inLastTag = (text: string): string | undefined => {
  const last = [...text.matchAll(tag)].at(-1)
  const stated = last?.[1]?.trim() ?? ""
  if (last === undefined || stated === "") return undefined
  const answer = Announcement.last(stated) ?? stated
  const after = text.slice(last.index + last[0].length)
  // The tag may be a part of its sentence, or end it.
  return Retraction.follows(after, answer) || Retraction.follows(`. ${after}`, answer) ? "" : answer
}

/**
 * The answer marked by boxes, tags or announcements; undefined without a mark, without an answer if the marks have
 * none.
 */
export const marked = (
  completion: string,
  options: Partial<Options> = {}
): { readonly answer: string | undefined } | undefined => {
  const { splitsOnThinkTag, maxBoxed, needsBox } = { ...accuracyOptions, ...options }
  const text = Signs.ascii(splitsOnThinkTag ? afterThinking(completion) : completion)
  const boxes = Boxes.count(text)
  if (boxes > maxBoxed) return { answer: undefined }
  if (boxes === 0 && needsBox) return undefined
  const answer =
    boxes > 0 ? Boxes.last(text)?.answer : (inLastTag(text) ?? inObjectAlone(text) ?? Announcement.last(text))
  if (boxes === 0 && answer === undefined) return undefined
  return { answer: answer?.trim() === "" ? undefined : answer?.replace(approximated, "") }
}

/** The answer in a completion, as written; undefined if none. */
export const extract = (completion: string, options: Partial<Options> = {}): string | undefined => {
  const { needsBox, splitsOnThinkTag, unmarked } = { ...accuracyOptions, ...options }
  const candidates = marked(completion, options)
  if (candidates !== undefined) return candidates.answer
  if (needsBox || unmarked === "none") return undefined
  return unmarkedIn(Signs.ascii(splitsOnThinkTag ? afterThinking(completion) : completion), unmarked === "number")
}
