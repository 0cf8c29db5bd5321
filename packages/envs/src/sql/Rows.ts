/**
 * Reads rows of a user's data set in three layouts: WikiSQL's, Spider's with its database files, or with the SQL that
 * creates the database in a column (as in gretelai/synthetic_text_to_sql).
 */
import { Columns, type Dataset } from "@atropos/core"
import * as ItemSource from "../kit/ItemSource.ts"
import { Effect, FileSystem, Result } from "effect"
import * as WikiSql from "./WikiSql.ts"

/** A question about databases created by SQL, or about the one in a file. */
export interface Item {
  readonly question: string
  readonly gold: string
  readonly databases: ReadonlyArray<string>
  readonly file?: string
}

export interface Options {
  readonly source: string
  readonly testSource: string | null
  readonly seed: number
  readonly questionField: string
  readonly queryField: string
  readonly contextField: string | null
  readonly databaseField: string
  readonly databaseFolder: string | null
}

const question = ({ questionField }: Options) => ({
  setting: "question_field",
  column: questionField,
  kind: Columns.text
})
const query = ({ queryField }: Options) => ({ setting: "query_field", column: queryField, kind: Columns.text })

type Source = Effect.Effect<
  ItemSource.ItemSource<Item, Dataset.DatasetError>,
  Dataset.DatasetError,
  Dataset.Dataset | FileSystem.FileSystem
>

const inColumns = (options: Options, contextField: string): Source =>
  ItemSource.shuffledRowsAs(
    {
      ...options,
      columns: {
        question: question(options),
        gold: query(options),
        context: { setting: "context_field", column: contextField, kind: Columns.text }
      }
    },
    ({ context, ...request }) => Result.succeed<Item>({ ...request, databases: [context] })
  )

/** Names become parts of paths. */
const plainName = /^[\w.-]{1,200}$/

const inFiles = (options: Options, folder: string): Source =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const files = new Set(yield* Effect.orElseSucceed(fs.readDirectory(folder, { recursive: true }), () => []))
    const fileOf = (name: string): string | undefined =>
      [`${name}/${name}.sqlite`, `${name}.sqlite`, `${name}/${name}.db`, `${name}.db`].find((file) => files.has(file))
    return yield* ItemSource.shuffledRowsAs(
      {
        ...options,
        columns: {
          question: question(options),
          gold: query(options),
          name: { setting: "database_field", column: options.databaseField, kind: Columns.text }
        }
      },
      ({ name, ...request }) => {
        const file = plainName.test(name) ? fileOf(name) : undefined
        return file === undefined
          ? Result.fail(`neither ${name}/${name}.sqlite nor ${name}.sqlite found in ${folder} (database_folder)`)
          : Result.succeed<Item>({ ...request, databases: [], file: `${folder}/${file}` })
      }
    )
  })

const asWikiSql = (options: Options): Source =>
  ItemSource.shuffledRowsAs(
    {
      ...options,
      columns: {
        question: question(options),
        table: { setting: "context_field", column: "table", kind: Columns.anything },
        sql: { setting: "query_field", column: "sql", kind: Columns.anything }
      }
    },
    ({ question: request, ...row }) =>
      Result.map(WikiSql.made(row), ({ database, gold }): Item => ({ question: request, gold, databases: [database] }))
  )

/** The rows of a source, in the layout of the settings: a column of SQL, a folder of files, else WikiSQL's. */
export const read = (options: Options): Source =>
  options.contextField !== null
    ? inColumns(options, options.contextField)
    : options.databaseFolder !== null
      ? inFiles(options, options.databaseFolder)
      : asWikiSql(options)
