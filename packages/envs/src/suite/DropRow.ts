/** Reads the references of DROP: an answer is a number, a date or spans, and may come with validated alternatives. */
import { Columns } from "@atropos/core"

/** Texts and numbers; anything else becomes empty. */
const written = (value: unknown): string => {
  const text = Columns.asWritten(value)
  return typeof text === "string" ? text : ""
}

const spansOf = (answer: unknown): ReadonlyArray<string> => {
  if (typeof answer !== "object" || answer === null) return []
  const { date, number, spans } = answer as {
    readonly number?: unknown
    readonly spans?: unknown
    readonly date?: { readonly day?: unknown; readonly month?: unknown; readonly year?: unknown }
  }
  if (number !== undefined && number !== null && number !== "") return [written(number)]
  if (Array.isArray(spans) && spans.length > 0) return spans.map(written)
  return [
    [date?.day, date?.month, date?.year]
      .map((part) => written(part))
      .join(" ")
      .trim()
  ]
}

/** Validated answers are stored as parallel lists: `{ number: […], date: […], spans: […] }`. */
const validated = (answers: unknown): ReadonlyArray<unknown> => {
  if (Array.isArray(answers)) return answers
  if (typeof answers !== "object" || answers === null) return []
  const { date, number, spans } = answers as Readonly<Record<string, ReadonlyArray<unknown> | undefined>>
  return (number ?? []).map((one, at) => ({ number: one, date: date?.[at], spans: spans?.[at] }))
}

/** The references of a row of DROP, each a list of spans. */
export const dropGolds = (row: { readonly [column: string]: unknown }): ReadonlyArray<ReadonlyArray<string>> => {
  const all = [row["answer"], ...validated(row["validated_answers"])].map(spansOf)
  return Array.from(new Map(all.map((spans) => [JSON.stringify(spans), spans])).values()).filter(
    ([first = ""]) => first.trim() !== ""
  )
}
