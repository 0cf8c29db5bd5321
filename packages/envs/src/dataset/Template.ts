/**
 * Fills prompt templates from columns: `Question: {question}`, where `{question}` is the row's column of that name, or
 * a path into one.
 *
 * `{{` and `}}` are literal braces. A column that is not text (for example a list of choices) is written as JSON.
 */
import { Columns, ExactJson } from "@atropos/core"

const piece = /\{\{|\}\}|\{([^{}]+)\}/g

export const columnsOf = (template: string): ReadonlyArray<string> =>
  Array.from(
    new Set(Array.from(template.matchAll(piece)).flatMap(([, column]) => (column === undefined ? [] : [column])))
  )

/** Replaces the columns in a template by their values. */
export const fill = (template: string, valueOf: (column: string) => unknown): string =>
  template.replaceAll(piece, (whole, column: string | undefined) => {
    if (column === undefined) return whole.charAt(0)
    const value = valueOf(column)
    return typeof value === "string" ? value : (Columns.text.read(value) ?? ExactJson.write(value) ?? "")
  })
