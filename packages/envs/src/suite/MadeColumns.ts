/**
 * Columns that a suite makes of others before anything else is read: `columns` of its YAML, one after the other.
 *
 * `of` is a template, `each` a column with a list of texts. Both then have every match of the patterns of `replace` put
 * in another form, in their order, and with `capitalise` a first letter that is large and others that are small.
 */
import { Columns } from "@atropos/core"
import { Result, Schema } from "effect"
import * as Template from "../dataset/Template.ts"
import * as RowOf from "./Row.ts"
import type { Row } from "./Row.ts"

const Pattern = Schema.NonEmptyString.check(
  Schema.makeFilter((source: string) =>
    Result.isSuccess(Result.try(() => new RegExp(source, "gu"))) ? undefined : `no regular expression: ${source}`
  )
)

const Made = Schema.Struct({
  of: Schema.optionalKey(Schema.NonEmptyString),
  each: Schema.optionalKey(Schema.NonEmptyString),
  replace: Schema.optionalKey(Schema.Array(Schema.Tuple([Pattern, Schema.String]))),
  capitalise: Schema.optionalKey(Schema.Boolean)
}).check(
  Schema.makeFilter(({ each, of }) =>
    (each === undefined) === (of === undefined) ? "exactly one of of and each must be given" : undefined
  )
)

export const MadeColumns = Schema.Record(Schema.String, Made)
export type MadeColumns = typeof MadeColumns.Type

const capitalised = (text: string): string => {
  const [first = "", ...rest] = text
  return first.toUpperCase() + rest.join("").toLowerCase()
}

/** The row with the columns that are made of it; a column that is missing is told. */
export const add = (row: Row, made: MadeColumns = {}): Result.Result<Row, string> => {
  let all = row
  for (const [name, { capitalise = false, each, of, replace = [] }] of Object.entries(made)) {
    const patterns = replace.map(([pattern, by]) => [new RegExp(pattern, "gu"), by] as const)
    const written = (text: string): string => {
      const replaced = patterns.reduce((so, [pattern, by]) => so.replace(pattern, by), text)
      return capitalise ? capitalised(replaced) : replaced
    }
    for (const column of of === undefined ? [each ?? ""] : Template.columnsOf(of)) {
      const value = Columns.at(all, column)
      if (value === undefined || value === null) {
        return Result.fail(
          `there is no column ${JSON.stringify(column)} (columns.${name} of the suite); there are ${Object.keys(row).join(", ")}`
        )
      }
    }
    if (of !== undefined) {
      const text = Template.fill(of, (column) => RowOf.inPrompt(Columns.at(all, column)))
      all = { ...all, [name]: written(text) }
      continue
    }
    const texts = RowOf.textsOf(Columns.at(all, each ?? ""))
    if (texts === undefined) {
      return Result.fail(`the column ${JSON.stringify(each)} (columns.${name} of the suite) must be a list of texts`)
    }
    all = { ...all, [name]: texts.map(written) }
  }
  return Result.succeed(all)
}
