/** Reads the cells of a row as texts, regardless of their type in the data set. Pure. */
import { Columns, ExactJson } from "@atropos/core"

export type Row = { readonly [column: string]: unknown }

/** The text of a string, number or boolean. */
export const written = (value: unknown): string | undefined => {
  const text = typeof value === "boolean" ? String(value) : Columns.asWritten(value)
  return typeof text === "string" ? text : undefined
}

/** Texts of a column: one, a list, or a list written as JSON or Python. */
export const textsOf = (value: unknown): ReadonlyArray<string> | undefined => {
  if (Array.isArray(value)) {
    const all = value.map(written)
    return all.length > 0 && all.every((one) => one !== undefined) ? all : undefined
  }
  const text = written(value)
  return text === undefined ? undefined : [text]
}

/** Formats a column's value for a prompt. */
export const inPrompt = (value: unknown): string =>
  written(value) ??
  (Array.isArray(value) && value.every((one) => typeof one === "string")
    ? value.join("\n\n")
    : (ExactJson.write(value) ?? ""))
