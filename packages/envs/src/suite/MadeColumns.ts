/**
 * Derives columns from others before anything else is read: `columns` of a suite's YAML, in order.
 *
 * `of` is a template, `each` a column with a list of texts. Both then pass through `steps`, in order: those of
 * `Normalise` by name, and pairs of a pattern and its replacement, applied to every match.
 */
import { Columns } from "@atropos/core"
import { Result, Schema } from "effect"
import * as Template from "../dataset/Template.ts"
import { names, normalise } from "./Normalise.ts"
import * as Cell from "./Cell.ts"

const Pattern = Schema.NonEmptyString.check(
  Schema.makeFilter((source: string) =>
    Result.isSuccess(Result.try(() => new RegExp(source, "gu"))) ? undefined : `no regular expression: ${source}`
  )
)

const Made = Schema.Struct({
  of: Schema.optionalKey(Schema.NonEmptyString),
  each: Schema.optionalKey(Schema.NonEmptyString),
  steps: Schema.optionalKey(
    Schema.Array(Schema.Union([Schema.Literals(names), Schema.Tuple([Pattern, Schema.String])]))
  )
}).check(
  Schema.makeFilter(({ each, of }) =>
    (each === undefined) === (of === undefined) ? "exactly one of of and each must be given" : undefined
  )
)

export const MadeColumns = Schema.Record(Schema.String, Made)
export type MadeColumns = typeof MadeColumns.Type

/** Adds the derived columns to a row; fails if a column is missing. */
export const add = (row: Cell.Row, columns: MadeColumns = {}): Result.Result<Cell.Row, string> => {
  let all = row
  for (const [name, { each, of, steps = [] }] of Object.entries(columns)) {
    const made = steps.map((step) => {
      if (typeof step === "string") return (text: string) => normalise(text, [step])
      const pattern = new RegExp(step[0], "gu")
      return (text: string) => text.replace(pattern, step[1])
    })
    const written = (text: string): string => made.reduce((so, step) => step(so), text)
    for (const column of of === undefined ? [each ?? ""] : Template.columnsOf(of)) {
      const value = Columns.at(all, column)
      if (value === undefined || value === null) {
        return Result.fail(
          `missing column ${JSON.stringify(column)} (columns.${name} of the suite); columns: ${Object.keys(row).join(", ")}`
        )
      }
    }
    if (of !== undefined) {
      const text = Template.fill(of, (column) => Cell.inPrompt(Columns.at(all, column)))
      all = { ...all, [name]: written(text) }
      continue
    }
    const texts = Cell.textsOf(Columns.at(all, each ?? ""))
    if (texts === undefined) {
      return Result.fail(`the column ${JSON.stringify(each)} (columns.${name} of the suite) must be a list of texts`)
    }
    all = { ...all, [name]: texts.map(written) }
  }
  return Result.succeed(all)
}
