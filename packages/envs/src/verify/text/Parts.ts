/**
 * Reads the parts of a question that an answer boxes one by one, `(a) \boxed{1} (b) \boxed{2}`, as one answer with
 * their labels. Such an answer equals a list of as many values in the same order; anything else is compared with its
 * last part.
 */
import type { Found } from "./Formulas.ts"
import * as Numerals from "./Numerals.ts"

/** Labels in their order; all parts have labels of one kind. */
const kinds = ["a b c d e f g h", "A B C D E F G H", "i ii iii iv v vi", "1 2 3 4 5 6 7 8"].map((all) => all.split(" "))

/** A label directly before a box: "(a)", "b)", "**Part (c):**". */
const label = /(?<![\w(])(?:[Pp]art\s)?\(?([a-h]|[A-H]|[iv]{1,3}|[1-8])\)[\s$*:]{0,9}$/
/** Between a box and the label of the next one. */
const gap = /^(?:[\s$*.,;&]|\\\\|\\q?quad(?![a-zA-Z])|(?:and|or)(?![a-zA-Z])){0,9}$/
const maxGap = 60

const labelBefore = (text: string, end: number): RegExpExecArray | null =>
  label.exec(text.slice(Math.max(0, end - maxGap), end))

/** The parts that end with the last box, labelled from the first on; undefined without any. */
export const of = (text: string, boxes: ReadonlyArray<Found>): Found | undefined => {
  const labels: Array<string> = []
  for (let at = boxes.length - 1; at >= 0; at--) {
    const before = labelBefore(text, boxes[at]!.start)
    if (before === null) return undefined
    labels.unshift(before[1]!)
    const kind = kinds.find((all) => labels.every((one, place) => one === all[place]))
    if (kind !== undefined) {
      const parts = boxes.slice(at)
      const [first, last] = [parts[0]!, parts.at(-1)!]
      // A part of several values would be several parts.
      if (parts.length < 2 || parts.some(({ answer }) => /[,;]/.test(answer))) return undefined
      const answer = parts.map((part, place) => `(${labels[place]}) ${part.answer.trim()}`).join(separator)
      return { start: first.start, end: last.end, answer }
    }
    const previous = boxes[at - 1]
    const start = Math.max(0, boxes[at]!.start - maxGap) + before.index
    if (previous === undefined || !gap.test(text.slice(previous.end, start))) return undefined
  }
  return undefined
}

const separator = " \\quad "

const valuesOf = (answer: string): ReadonlyArray<string> | undefined => {
  const parts = answer.split(separator).map((part) => /^\((\w{1,3})\) ([^]+)$/.exec(part))
  const isParts = parts.length > 1 && kinds.some((all) => parts.every((part, place) => part?.[1] === all[place]))
  return isParts ? parts.map((part) => part![2]!) : undefined
}

/** Values with commas between them and no brackets around all; not one number. */
const isList = (answer: string): boolean =>
  /[,;]/.test(answer) &&
  !/^[\s$]{0,9}(?:\\left\s?)?(?:\\?\{|[([])/.test(answer) &&
  Numerals.plain(answer.replaceAll(/[\s$]/g, "")) === undefined

const tuple = (values: ReadonlyArray<string>): string => `(${values.join(", ")})`

/** The compared answers if either has parts: in order, as a tuple is. */
export const without = (gold: string, prediction: string): readonly [gold: string, prediction: string] | undefined => {
  const [own, other] = [valuesOf(gold), valuesOf(prediction)]
  if (own === undefined && other === undefined) return undefined
  if (own !== undefined) return [tuple(own), other === undefined ? prediction : tuple(other)]
  return [gold, isList(gold) ? tuple(other!) : other!.at(-1)!]
}
