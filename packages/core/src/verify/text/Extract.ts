/**
 * Finds the answer in a completion.
 *
 * Looks only behind the last `</think>`, and not into thinking that is opened after it. A box, where there is one, is
 * the answer, whatever stands after it; `Boxes` says which box counts. Without a box the last of these is: "the final
 * answer is …", `#### …`. Without any of them, and only if asked to, the last formula between dollar signs or the like,
 * then the last number. What its own sentence denies or leaves open ("is certainly not 5", "is 5 or maybe 6") is no
 * answer. One answer is returned, never a choice: an answer that lists candidates is compared as that list. Linear in
 * the text.
 */
import * as Boxes from "./Boxes.ts"
import * as Wording from "./Wording.ts"

export interface Options {
  /** Whether only the text after the last `</think>` counts. */
  readonly splitsOnThinkTag: boolean
  /** More boxes than this in the answer part and there is no answer: guessing is not answering. */
  readonly maxBoxed: number
  /** Whether there is no answer without a box. */
  readonly needsBox: boolean
  /** What is taken where nothing marks the answer: nothing, the last formula, or failing that the last number too. */
  readonly unmarked: "none" | "formula" | "number"
}

export const defaultOptions: Options = { splitsOnThinkTag: true, maxBoxed: 6, needsBox: false, unmarked: "number" }

/** As the original's Accuracy reward: boxed or announced answers only. */
export const accuracyOptions: Options = { ...defaultOptions, unmarked: "none" }

/** Where the prompt says that an answer without a box gets no credit. */
export const boxedOptions: Options = { ...accuracyOptions, needsBox: true }

type Found = Boxes.Found

/**
 * What follows the last `</think>`, up to thinking that is opened and never closed; the whole text without any
 * thinking.
 */
export const afterThinking = (text: string): string => {
  const close = text.lastIndexOf("</think>")
  const spoken = close >= 0 ? text.slice(close + "</think>".length) : text
  const open = spoken.indexOf("<think>")
  return open >= 0 ? spoken.slice(0, open) : spoken
}

const anchors =
  /\b(?:final answer|answer)s?\b(?:\s+to [^.\n:]{0,80})?[\s*]{0,8}(?:(?:is|are)(?:n['’]t)?(?![a-zA-Z])|:|=)\s?:?|(?:^|\n)[ \t]{0,8}####/gi

/**
 * A sentence's end: a period before space or the end of the text, a line break, or the phrase that few-shot prompts
 * teach.
 */
const sentence = /^(?:[^\n.]|\.(?=\d))*/

const withoutMarkup = (text: string): string =>
  text.replaceAll(/\*\*|^["'“\s:]+/g, "").replace(/(?<!["'”\s])["'”\s]+$/, "")

/** "This answer is correct." announces nothing. */
const remark =
  /^[\s*]*(?:indeed |also |clearly |therefore |thus |now )?(?:correct|right|verified|confirmed|checked|complete|consistent|reasonable|valid|exact|unique|final|above|below|boxed|shown|found|as)(?![a-zA-Z])[^\d$\\]*$/i

interface Announcement {
  readonly before: string
  readonly announcing: string
  readonly stated: string
}

const announcement = (text: string, match: RegExpMatchArray): Announcement => {
  const at = match.index ?? 0
  const start = at + match[0].length
  const near = text.slice(start, start + 2_100)
  const lead = /^\s*/.exec(near)?.[0].length ?? 0
  const display = /^(?:\*\*|\s)*(?:\$\$|\\\[)/.test(near)
  const rest = near.slice(lead, lead + 2_000)
  const stated = display
    ? (/^(?:\*\*|\s)*(\$\$[^$]*\$\$|\\\[[^]*?\\\])/.exec(rest)?.[1] ?? rest)
    : (sentence.exec(rest)?.[0] ?? "")
  return { before: text.slice(Math.max(0, at - 200), at), announcing: match[0], stated }
}

/**
 * The formula or number of the last sentence with "the answer is"; an empty text where it denies it or leaves it open.
 */
const lastAnchored = (text: string): string | undefined => {
  const matches = [...text.matchAll(anchors)]
  let said: Announcement | undefined
  for (let i = matches.length - 1; i >= Math.max(0, matches.length - maxRemarks); i--) {
    said = announcement(text, matches[i]!)
    if (!remark.test(said.stated)) break
  }
  if (said === undefined) return undefined
  const { announcing, before, stated } = said
  if (Wording.denies(`${announcing} ${stated}`) || Wording.isBorrowed(Wording.clauseBefore(before))) return ""
  // "Final answer: the largest $n$ is 34": the value is what is said of it.
  const value = withoutMarkup(predicate(stated))
  if (formulas(value).length > 0) return isOneOfSeveral(value) ? "" : joinFormulas(value)
  if (!isProse(value)) return value
  return onlyNumber(value)
}

/** What follows the last "is" of a sentence that something with a value follows, else all of it. */
const predicate = (stated: string): string => {
  let lastValue = stated.length - 1
  while (lastValue >= 0 && !/[\d$\\]/.test(stated[lastValue]!)) lastValue--
  const isOutside = outsideFormula(stated)
  const last = [...stated.matchAll(copula)].findLast(({ index }) => index < lastValue && isOutside(index))
  if (last === undefined && lastValue >= 0) return stated
  const statement = stated.slice(last?.index ?? 0)
  const isOutsideThere = outsideFormula(statement)
  return statement.replaceAll(copula, (word, at: number) => (isOutsideThere(at) ? "" : word))
}

/** Whether a place is not in the formula that the text ends with: one dollar sign comes after what is. */
const outsideFormula = (text: string): ((at: number) => boolean) => {
  const close = text.lastIndexOf("$")
  const open = close <= 0 ? -1 : text.lastIndexOf("$", close - 1)
  return (at) => at < open || at > close
}

/** How many remarks about the answer are passed over. */
const maxRemarks = 20

/** "$5$ or possibly $6$": formulas that are no list, with doubt between or around them. */
const isOneOfSeveral = (value: string): boolean => {
  const parts = formulas(value)
  const between = parts.map(({ end }, i) => value.slice(end, parts[i + 1]?.start ?? value.length))
  const words = [value.slice(0, parts[0]?.start ?? 0), ...between.filter((gap) => !isList(gap))]
  return (
    words.some((gap) => Wording.isDoubtful(gap)) || between.slice(0, -1).some((gap) => joins.test(gap) && !isList(gap))
  )
}

/** Between two values that are both meant. */
const joins = /^\s*$|(?<![a-zA-Z])(?:and|also|or|alternatively)(?![a-zA-Z])/i

/**
 * The number that prose speaks of: the one after its last "=", or the only one; an empty text where it is another's or
 * there are several.
 */
const onlyNumber = (prose: string): string => {
  const start = prose.lastIndexOf("=") + 1
  const [first, ...more] = [...prose.slice(start).matchAll(numbers)]
  const number = first?.[0].trim() ?? ""
  if (first === undefined || more.some(([other]) => other.trim() !== number)) return ""
  const end = start + first.index + first[0].length
  return Wording.isValueBetween(prose.slice(0, start + first.index), prose.slice(end)) ? number : ""
}

/**
 * The formula or number in the sentence before "I hope it is correct", which few-shot prompts teach models to close
 * with.
 */
const lastStated = (text: string): string | undefined => {
  const end = text.lastIndexOf(". I hope it is correct")
  if (end < 0) return undefined
  const before = text.slice(Math.max(0, end - 500), end)
  const sentenceStart = Math.max(before.lastIndexOf(". "), before.lastIndexOf("\n")) + 1
  const stated = before.slice(sentenceStart)
  return formulas(stated).length > 0 ? joinFormulas(stated) : lastNumber(stated)
}

const copula = /\b(?:is|are|equals)\b/gi

/** Whether words stand side by side outside of `\text{…}`. */
const isProse = (text: string): boolean =>
  /(?<![a-zA-Z'’])[a-zA-Z'’]{2,}\s+[a-zA-Z'’]{2,}\s+[a-zA-Z'’]{2,}/.test(
    text.replaceAll(/\\text\w*\{[^{}]*\}|\\[a-zA-Z]+/g, " \\ ")
  )

const formula =
  /(?<!\\)\$\$([^$]+)(?<!\\)\$\$|(?<!\\)\$((?:[^$\n\\]|\\[^\n])+)\$|\\\[((?:[^\\]|\\[^[\]]){1,2000})\\\]|\\\(((?:[^\n\\]|\\[^()\n]){1,2000})\\\)/g

/** Formulas between `$…$` (on one line), `$$…$$`, `\(…\)` and `\[…\]`. */
export const formulas = (text: string): ReadonlyArray<Found> =>
  [...text.matchAll(formula)]
    .map((match) => ({
      start: match.index,
      end: match.index + match[0].length,
      answer: match[1] ?? match[2] ?? match[3] ?? match[4] ?? ""
    }))
    .filter(({ answer }) => answer.trim() !== "")

/** The last formula with those that are listed with it, and a unit or percent sign that stands outside. */
const joinFormulas = (text: string): string | undefined => {
  const parts = formulas(text)
  const last = parts.at(-1)
  if (last === undefined) return undefined
  let first = parts.length - 1
  while (first > 0 && isList(text.slice(parts[first - 1]!.end, parts[first]!.start))) first -= 1
  const list = parts.slice(first).map(({ answer }) => answer)
  return list.join(" , ") + Boxes.percentAfter(text.slice(last.end, last.end + 20))
}

const isList = (gap: string): boolean => /^\s*(?:,|;|and|or|,\s*and|,\s*or)\s*$/.test(gap)

const numbers =
  /(?<![\w.\\])[-+]?(?:\\?\$|€|£)?\s?(?:\d{1,3}(?:,\d{3}){1,50}(?![\d,])(?:\.\d+)?|\d+\s*\/\s*\d+|\d+,\d+(?![\d,])|\d+(?:\.\d+)?|\.\d+)(?:\s*(?:\\?%|percent(?:age)?\b|pct\b))?/g

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

/**
 * A short text that is nothing but an answer, else the last formula, else the last number; a number that ends the text
 * comes first.
 */
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

/**
 * The answer in a reference solution: what follows the last `####`, else what is boxed (closed or not), else the whole
 * text.
 */
export const extractReference = (reference: string): string => {
  const marker = reference.lastIndexOf("####")
  if (marker >= 0) return reference.slice(marker + 4).trim()
  return Boxes.last(reference)?.answer ?? Boxes.unclosed(reference) ?? reference
}

const isOpenBefore = (before: string): boolean =>
  Wording.isDeniedBy(before) || Wording.isOneOfSeveral(Wording.clauseBefore(before))

/** What an unmarked answer is taken from, unless the words before it deny it or leave it open. */
const unmarkedIn = (text: string, allowsNumbers: boolean): string | undefined => {
  const answer = lastStated(text) ?? lastUnmarked(text, allowsNumbers)
  const at = answer === undefined ? -1 : text.lastIndexOf(answer)
  return at >= 0 && isOpenBefore(text.slice(Math.max(0, at - 300), at)) ? undefined : answer
}

/**
 * What boxes or announcements mark as the answer; undefined where nothing does, without an answer where they say none.
 */
export const marked = (
  completion: string,
  options: Partial<Options> = {}
): { readonly answer: string | undefined } | undefined => {
  const { splitsOnThinkTag, maxBoxed, needsBox } = { ...defaultOptions, ...options }
  const text = splitsOnThinkTag ? afterThinking(completion) : completion
  const boxes = Boxes.count(text)
  if (boxes > maxBoxed) return { answer: undefined }
  if (boxes === 0 && needsBox) return undefined
  const answer = boxes > 0 ? Boxes.last(text)?.answer : lastAnchored(text)
  if (boxes === 0 && answer === undefined) return undefined
  return { answer: answer?.trim() === "" ? undefined : answer }
}

/** The answer in a completion, as it is written there; undefined where there is none. */
export const extract = (completion: string, options: Partial<Options> = {}): string | undefined => {
  const { needsBox, splitsOnThinkTag, unmarked } = { ...defaultOptions, ...options }
  const candidates = marked(completion, options)
  if (candidates !== undefined) return candidates.answer
  if (needsBox || unmarked === "none") return undefined
  return unmarkedIn(splitsOnThinkTag ? afterThinking(completion) : completion, unmarked === "number")
}
