/**
 * Reads the rows of a data set as multiple-choice questions, by the named columns.
 *
 * Unreadable rows are skipped and reported (`Columns`). If the right answer has its own column among those of the
 * choices, it would always have the same position, so the choices are shuffled by the question's text.
 */
import { Columns, type Dataset, SeededRandom } from "@atropos/core"
import * as ItemSource from "../kit/ItemSource.ts"
import { type Effect, Result } from "effect"
import { choices, type Choices, columnsOf } from "./Choices.ts"
import type { Question } from "./Question.ts"
import { fromRow, type Meaning } from "./Row.ts"

interface Options {
  readonly source: string
  readonly testSource: string | null
  readonly seed: number
  readonly questionField: string
  readonly choicesField: string
  readonly labelsField: string | null
  readonly answerField: string
  readonly answerIs: Meaning
}

type Item = Question & { readonly samplingSeed: number }

type Picked = { readonly [name: string]: unknown }

/** The choices' columns under their indices, the others under these names. */
const columnsFor = ({ answerField, choicesField, labelsField, questionField }: Options): Columns.Columns => {
  const parts = columnsOf(choicesField)
  const [only = choicesField] = parts
  return {
    question: { setting: "question_field", column: questionField, kind: Columns.text },
    answer: { setting: "answer_field", column: answerField, kind: Columns.written },
    ...(labelsField !== null && { labels: { setting: "labels_field", column: labelsField, kind: Columns.texts } }),
    ...(parts.length > 1
      ? Object.fromEntries(
          parts.map((column, place) => [place, { setting: "choices_field", column, kind: Columns.text }] as const)
        )
      : { choices: { setting: "choices_field", column: only, kind: choices } })
  }
}

const choicesOf = (picked: Picked, parts: ReadonlyArray<string>): Choices => {
  const found =
    parts.length > 1
      ? { texts: parts.map((_, place) => picked[String(place)] as string) }
      : (picked["choices"] as Choices)
  const labels = picked["labels"] as Choices["labels"]
  return labels === undefined ? found : { ...found, labels }
}

/** Shuffles the choices of a question, seeded by its text. */
const turned = (item: Item): Item => {
  const places = SeededRandom.seeded(SeededRandom.hashOf(item.question), 0).shuffle(Array.from(item.texts.keys()))
  const texts = places.map((place) => item.texts[place] ?? "")
  return { ...item, choices: texts, texts, gold: places.indexOf(item.gold) }
}

export const shuffled = (
  options: Options
): Effect.Effect<ItemSource.ItemSource<Item, Dataset.DatasetError>, Dataset.DatasetError, Dataset.Dataset> => {
  const parts = columnsOf(options.choicesField)
  const place = parts.length > 1 ? parts.indexOf(options.answerField) : -1
  return ItemSource.shuffledRowsAs({ ...options, columns: columnsFor(options) }, (picked: Picked) => {
    const row = { question: picked["question"] as string, choices: choicesOf(picked, parts), answer: picked["answer"] }
    return place === -1
      ? fromRow(row, options.answerIs)
      : Result.map(fromRow({ ...row, answer: place }, "index"), turned)
  })
}
