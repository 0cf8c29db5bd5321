/** Prepares the items of an evaluation, or of two joined, for their list. Pure. */
import * as Comparison from "@atropos/core/evaluation/Comparison"
import type * as Wire from "../source/Wire.ts"

export type Sample = Wire.EvaluationSampleRow

/** In the form of comparisons and summaries. */
export interface Answer extends Comparison.Answer {
  readonly sample: Sample
}

export const answerOf = (sample: Sample): Answer => ({
  item: sample.item,
  id: sample.item,
  ...(sample.category !== null && { category: sample.category }),
  parsed: sample.parsed ?? null,
  score: sample.score,
  rewards: sample.rewards,
  ...(sample.correct !== undefined && { correct: sample.correct }),
  sample
})

/** The change of an item from the first evaluation to the second. */
export type Course = "fixed" | "broken" | "unchanged"

export interface Side {
  readonly samples: ReadonlyArray<Sample>
  /** The share correct; the mean score if the environment does not define correct. */
  readonly share: number
  readonly isJudged: boolean
}

export interface Item {
  readonly id: string
  readonly label: string
  readonly category: string | null
  readonly gold: string
  readonly sides: ReadonlyArray<Side>
  readonly course: Course | null
}

const sideOf = (answers: ReadonlyArray<Answer>): Side => ({
  samples: answers.map(({ sample }) => sample),
  share: Comparison.shareOf(answers),
  isJudged: Comparison.isJudged(answers)
})

export type Items = Comparison.Items<Answer>

export const group = (samples: ReadonlyArray<Sample>): Items => Comparison.byItem(samples.map(answerOf))

const courseOf = (before: number, after: number): Course =>
  after === before ? "unchanged" : after > before ? "fixed" : "broken"

/** Items of one evaluation, or those common to both. */
export const join = (first: Items, second: Items | null): ReadonlyArray<Item> =>
  [...first].flatMap(([id, answers]) => {
    const others = second?.get(id)
    const [one] = answers
    if (one === undefined || (second !== null && others === undefined)) return []
    const sides = [sideOf(answers), ...(others === undefined ? [] : [sideOf(others)])]
    const [before, after] = sides
    return [
      {
        id,
        label: one.sample.label,
        category: one.sample.category,
        gold: one.sample.gold[0] ?? "",
        sides,
        course: before === undefined || after === undefined ? null : courseOf(before.share, after.share)
      }
    ]
  })

export const shownAnswer = ({ ending, parsed }: Sample): string =>
  parsed === undefined || parsed === "" ? ending || "(nothing)" : (parsed ?? "(unparsed)")

/** Beginnings shorter than this are shown although they are alike. */
const minAlike = 24

/**
 * `…{"seats": 6}}`: a text from the word before its difference to another one, so that it is in view. Expressions with
 * the same long beginning, such as tool calls, would look alike.
 */
export const fromDifference = (text: string, other: string): string => {
  let alike = 0
  while (alike < text.length && text[alike] === other[alike]) alike++
  if (alike === text.length && alike === other.length) return text
  const before = text.lastIndexOf(" ", alike - 1)
  const word = before < 1 ? 0 : text.lastIndexOf(" ", before - 1) + 1
  return word < minAlike ? text : `…${text.slice(word)}`
}

export type Show = "all" | "wrong" | "correct" | "some" | "unread" | "cut" | Course

export interface Filter {
  readonly show: Show
  readonly category: string
  readonly text: string
}

const holds: { readonly [S in Show]: (item: Item) => boolean } = {
  all: () => true,
  wrong: ({ sides }) => sides.some(({ isJudged, share }) => isJudged && share < 1),
  correct: ({ sides }) => sides.every(({ isJudged, share }) => isJudged && share === 1),
  some: ({ sides }) => sides.some(({ isJudged, share }) => isJudged && share > 0 && share < 1),
  unread: ({ sides }) => sides.some(({ samples }) => samples.some(({ parsed }) => parsed === null)),
  cut: ({ sides }) => sides.some(({ samples }) => samples.some(({ is_cut }) => is_cut)),
  fixed: ({ course }) => course === "fixed",
  broken: ({ course }) => course === "broken",
  unchanged: ({ course }) => course === "unchanged"
}

export const shows: ReadonlyArray<readonly [Show, string]> = [
  ["all", "all"],
  ["wrong", "wrong"],
  ["correct", "right"],
  ["some", "sometimes right"],
  ["unread", "unparsed"],
  ["cut", "truncated"]
]

export const courses: ReadonlyArray<readonly [Show, string]> = [
  ["all", "all"],
  ["fixed", "fixed"],
  ["broken", "regressed"],
  ["unchanged", "unchanged"],
  ["wrong", "wrong in either"]
]

export const isShow = (word: string | null): word is Show => word !== null && word in holds

const textOf = ({ gold, id, label, sides }: Item): string =>
  [id, label, gold, ...sides.flatMap(({ samples }) => samples.map(shownAnswer))].join("\n").toLowerCase()

/** Each word of the text must occur somewhere in the list row. */
export const select = (items: ReadonlyArray<Item>, { category, show, text }: Filter): ReadonlyArray<Item> => {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "")
  return items.filter((item) => {
    if (!holds[show](item) || (category !== "" && item.category !== category)) return false
    if (words.length === 0) return true
    const all = textOf(item)
    return words.every((word) => all.includes(word))
  })
}
