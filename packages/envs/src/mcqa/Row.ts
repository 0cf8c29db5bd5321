/**
 * Reads multiple-choice questions of data sets.
 *
 * The meaning of the answer column follows from the row itself or from the setting `answer_is`; otherwise the row is
 * rejected with a reason that names the possible settings. Data sets differ: "2" is the third ending of HellaSwag, the
 * second option of Winogrande, and the label "2", in any position, of ARC.
 */
import { Columns, ExactJson } from "@atropos/core"
import { Result } from "effect"
import type { Choices } from "./Choices.ts"
import { letterOf, type Question } from "./Question.ts"

/**
 * The meaning of an answer: inferred from the row, a label of the choices, one of their texts, or an index counted from
 * 0 or from 1.
 */
export const meanings = ["auto", "label", "text", "index", "number"] as const
export type Meaning = (typeof meanings)[number]

interface Row {
  readonly question: string
  readonly choices: Choices
  readonly answer: unknown
}

/** Letters run from A to Z. */
const mostChoices = 26

type Refusal = string | Columns.Misread

const quoted = (value: unknown): string => JSON.stringify(String(value))

/** The only index of a value; undefined if it has none, or several. */
const placeOf = (list: ReadonlyArray<string>, value: string): number | undefined => {
  const at = list.findIndex((one) => one.trim() === value)
  return at === -1 || list.findLastIndex((one) => one.trim() === value) !== at ? undefined : at
}

/** The index of the answer under each meaning. */
const places = ({ answer, choices: { labels, texts } }: Row) => {
  const written = String(answer).trim()
  // A number of a row may be written 2.0.
  const whole = typeof answer === "string" ? written : String(ExactJson.plain(answer))
  const count = /^\d{1,9}$/.test(whole) ? Number(whole) : undefined
  const within = (place: number | undefined) =>
    place !== undefined && place >= 0 && place < texts.length ? place : undefined
  const letter = placeOf(
    texts.map((_, place) => letterOf(place)),
    written.toUpperCase()
  )
  return {
    label: labels === undefined ? letter : placeOf(labels, written),
    text: placeOf(texts, written),
    index: within(count),
    number: within(count === undefined ? undefined : count - 1)
  }
}

const settings =
  "set answer_is to label, text, index (the first choice is 0) or number (the first choice is 1), or name the labels' column in labels_field"

/** The index of the right choice. A JSON number counts from 0, as in MMLU; for a text of digits the base is unknown. */
const goldOf = (row: Row, meaning: Meaning): Result.Result<number, Refusal> => {
  const { answer, choices } = row
  const found = places(row)
  const count = choices.texts.length
  if (meaning !== "auto") {
    const place = found[meaning]
    return place === undefined
      ? Result.fail(`the answer ${quoted(answer)} is not a valid ${meaning} of the ${count} choices (answer_is)`)
      : Result.succeed(place)
  }
  if (choices.labels !== undefined) {
    const place = found.label ?? found.text
    return place === undefined
      ? Result.fail(`the answer ${quoted(answer)} is neither one of the labels ${choices.labels.join(", ")} nor a text`)
      : Result.succeed(place)
  }
  if (typeof answer !== "string") {
    if (found.index !== undefined) return Result.succeed(found.index)
    const isLast = found.number === count - 1
    return isLast
      ? Result.fail(
          new Columns.Misread(
            `the answer ${quoted(answer)} of ${count} choices counts from 1, not from 0: set answer_is to number`
          )
        )
      : Result.fail(`the answer ${quoted(answer)} is not one of the ${count} choices`)
  }
  const meant = new Set([found.label, found.text, found.index, found.number].filter((place) => place !== undefined))
  const [place, ...others] = meant
  if (place === undefined) return Result.fail(`the answer ${quoted(answer)} is not one of the ${count} choices`)
  // A digit may fit only one base by chance, while the next row's fits both.
  const isCount = found.label === undefined && found.text === undefined
  return others.length > 0 || isCount
    ? Result.fail(`it is not clear which of the ${count} choices the answer ${quoted(answer)} is: ${settings}`)
    : Result.succeed(place)
}

/** The question of a row, or the reason if none. */
export const fromRow = (
  row: Row,
  meaning: Meaning = "auto"
): Result.Result<Question & { readonly samplingSeed: number }, Refusal> => {
  const { choices, question } = row
  const { labels, texts } = choices
  if (texts.length < 2 || texts.length > mostChoices) {
    return Result.fail(`expected 2 to ${mostChoices} choices, not ${texts.length}`)
  }
  if (labels !== undefined && (labels.length !== texts.length || new Set(labels).size !== labels.length)) {
    return Result.fail(
      `each of the ${texts.length} choices must have its own label, but the labels are ${labels.join(", ")}`
    )
  }
  return Result.map(goldOf(row, meaning), (gold) => ({
    question,
    compact: question,
    choices: texts,
    texts,
    gold,
    samplingSeed: 0
  }))
}
