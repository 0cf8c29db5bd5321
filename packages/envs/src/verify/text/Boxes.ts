/**
 * Determines which box of a text is its answer: one rule for completions and references.
 *
 * The last closed, non-empty `\boxed{…}` or `\fbox{…}` counts, regardless of following prose. Boxes joined by commas,
 * "and" or "or" are one list, and so are those of labelled parts (`Parts`); nested boxes belong to the outer one.
 * Unclosed and empty boxes, and those with the prompt's placeholder (`\boxed{answer}`), are ignored. A box denied by
 * the words or the sign directly before it ("is not \boxed{5}"), part of a calculation or hedge (`BoxContext`), or
 * taken back (`Retraction`) leaves no answer at all.
 */
import * as BoxContext from "./BoxContext.ts"
import * as Condition from "./Condition.ts"
import * as Formulas from "./Formulas.ts"
import * as Parts from "./Parts.ts"
import * as Retraction from "./Retraction.ts"
import * as Scan from "./Scan.ts"
import * as Tongues from "./Tongues.ts"
import * as Wording from "./Wording.ts"

type Found = Formulas.Found

const box = /\\(?:boxed|fbox)\s*(?:\{|(?=\d))/g

const empty = /\\(?:boxed|fbox)\s{0,9}\{\s{0,9}\}/g

/** Number of boxes, closed or not. */
export const count = (text: string): number => text.match(/\\boxed|\\fbox/g)?.length ?? 0

/** Placeholders in boxes of prompts. */
const placeholder =
  /^[\s$"'`<[(]*(?:\\(?:text|mathrm|textit)\{\s*)?(?:(?:your |the |my )?(?:final )?(?:answer|number|result|value)(?: here)?|\.\.\.|…|\\[lc]?dots|\?)?[\s}$"'`>\])]*$/i

const isPlaceholder = (answer: string): boolean => {
  const trimmed = answer.trim()
  return trimmed.length <= 60 && placeholder.test(trimmed)
}

/** Non-empty boxes, in order; nested ones as part of the outer. */
export const all = (text: string): ReadonlyArray<Found> => {
  const ends = Scan.groupEnds(text)
  const boxes: Array<Found> = []
  let last = 0
  for (const match of text.matchAll(box)) {
    if (match.index < last) continue
    const open = match.index + match[0].length - 1
    const isBraced = text[open] === "{"
    // `\boxed5` contains the one digit, as in LaTeX.
    const end = isBraced ? ends.get(open) : open + 2
    if (end === undefined) continue
    const answer = isBraced ? text.slice(open + 1, end - 1) : text.slice(open + 1, end)
    last = end
    if (!isPlaceholder(answer)) boxes.push({ start: match.index, end, answer })
  }
  return boxes
}

const maxGap = 60

/** Between boxes of one list: punctuation, spacing, "and", a few words in `\text`, the name of the next value. */
const isConnector = (gap: string): boolean => {
  if (gap.length > maxGap) return false
  const bare = gap
    .replaceAll(/\\text\{(?=[^{}]*\b(?:and|or)\b)[^{}]*\}/g, ",")
    .replaceAll(/\\q?quad|\\[,;:!() \][]|\$|\s/g, " ")
    .replaceAll(/[a-zA-Z](?:_\{?\w+\}?)?\s*=\s*$/g, " ")
    .trim()
  return bare === "" || /^(?:[,;]|,?\s*(?:[a-zA-Z]+\s)?(?:and|or)|&)$/.test(bare)
}

/** The last box with the boxes it is listed with, regardless of its surroundings: for references, which are trusted. */
export const lastGroup = (text: string): Found | undefined => {
  const boxes = all(text)
  const parts = Parts.of(text, boxes)
  if (parts !== undefined) return parts
  let first = boxes.length - 1
  while (first > 0 && isConnector(text.slice(boxes[first - 1]!.end, boxes[first]!.start))) first -= 1
  const group = boxes.slice(Math.max(0, first))
  const [start, end] = [group[0]?.start, group.at(-1)?.end]
  if (start === undefined || end === undefined) return undefined
  // A repeated box is one answer.
  const answers = [...new Set(group.map(({ answer }) => answer))]
  return { start, end, answer: answers.join(" , ") + Formulas.scaleAfter(text.slice(end, end + 20)) }
}

/** Max characters from a box to the ends of a formula that contains it. */
const formulaReach = 2_000

/** The formulas in the lines around a box, with their positions in the text. */
const formulasAround = (text: string, { end, start }: Found): ReadonlyArray<Found> => {
  const near = Math.max(0, start - formulaReach)
  const line = text.indexOf("\n", near)
  const from = near > 0 && line !== -1 && line < start ? line + 1 : near
  return Formulas.all(text.slice(from, end + formulaReach)).map((one) => ({
    ...one,
    start: one.start + from,
    end: one.end + from
  }))
}

/** A value offered as an alternative. */
const alternative =
  /^(?:[\s*_`$),]|\\?%){0,20}\(?or\s{1,9}\$?(-?\\d?frac\s?\{[^{}]{1,40}\}\s?\{[^{}]{1,40}\}|-?[\d.,/]*\d(?:\s?\\?%)?)(?![\d^!])/

/** The box that counts, with the boxes it is listed with; undefined if no box counts. */
export const last = (whole: string): Found | undefined => {
  const text = whole.replaceAll(empty, " ")
  const found = lastGroup(text)
  if (found === undefined) return undefined
  if (Wording.isDeniedBy(Tongues.beforeValue(text.slice(Math.max(0, found.start - 300), found.start)))) return undefined
  const { answer, end } = found
  if (Retraction.follows(text.slice(end), answer) || Condition.isConditional(text, found)) return undefined
  // `\boxed{\frac{1}{2}} or 0.5`: the comparison decides if they are equivalent.
  const also = alternative.exec(text.slice(end, end + 120))
  const isAnswer = BoxContext.isAnswer(
    text,
    { ...found, end: end + (also?.[0].length ?? 0) },
    formulasAround(text, found)
  )
  if (!isAnswer) return undefined
  const other = Condition.otherCase(text, all(text), found)
  if (other !== undefined) return { ...found, answer: `${other} \\text{ or } ${answer}` }
  return also === null ? found : { ...found, answer: `${answer} \\text{ or } ${also[1]}` }
}

/** What a box without braces marks up to the end of its formula, `$\boxed 15$`; for references, which are trusted. */
export const unbraced = (text: string): string | undefined => {
  const at = text.lastIndexOf("\\boxed")
  return at === -1 ? undefined : /^\\boxed\s([^\\{}$\n]{1,100})\$/.exec(text.slice(at, at + 120))?.[1]
}

/** The contents of an unclosed box; for references, which are trusted. */
export const unclosed = (text: string): string | undefined => /\\boxed\s*\{([^]*)$/.exec(text)?.[1]
