/**
 * Reads a CSV file as a stream of rows with their line number: values are separated by commas (`.tsv`: tabs), the first
 * line has the names of the columns, and all values are strings. A heading under which rows would be misread is an
 * error.
 */
import { Effect, Stream } from "effect"
import * as Reason from "../base/Reason.ts"
import { DatasetError } from "./DatasetError.ts"
import * as FileBytes from "./FileBytes.ts"
import * as Utf8 from "./Utf8.ts"

/** The output of csv-parse with `info`. */
interface CsvRecord {
  readonly record: { readonly [name: string]: string }
  readonly info: { readonly lines: number }
}

interface CsvRow {
  readonly value: CsvRecord["record"]
  /** The line on which it ends. */
  readonly row: number
  readonly unit: "line"
}

export const read = (source: string, path: string): Stream.Stream<CsvRow, DatasetError> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const { parse } = yield* Effect.promise(() => import("#csv-parse"))
      const file = yield* Effect.acquireRelease(
        Effect.sync(() => FileBytes.open(path)),
        // Destroying the parser does not close the file it reads from.
        (stream) => Effect.sync(() => stream.destroy())
      )
      const wrong = (line: number, problem: string, cause?: unknown) =>
        new DatasetError({
          source,
          row: line,
          message: `${path}, line ${line}: ${problem}`,
          ...(cause !== undefined && { cause })
        })
      // With two columns of the same name, a record has only the second.
      let names: ReadonlyArray<string> = []
      const columns = (heading: ReadonlyArray<string>): Array<string> => {
        names = heading
        return [...heading]
      }
      let lastLine = 0
      const note = (record: CsvRecord): CsvRecord => {
        lastLine = record.info.lines
        return record
      }
      const delimiter = isTabs(path) ? "\t" : ","
      const records = parse({ bom: true, delimiter, columns, info: true, skip_empty_lines: true, on_record: note })
      const checked = Utf8.checked()
      for (const one of [file, checked]) one.on("error", (error: Error) => records.destroy(error))
      file.pipe(checked).pipe(records)
      const failed = (cause: unknown): DatasetError => {
        const line = cause instanceof Error && "lines" in cause ? Number(cause.lines) : undefined
        if (line === undefined) {
          return new DatasetError({ source, message: `${path} cannot be read: ${Reason.of(cause)}`, cause })
        }
        const problem = headingProblem(names, isTabs(path))
        if (problem !== undefined) return wrong(1, problem, cause)
        // The parser reports the last line of the file.
        return cause instanceof Error && "code" in cause && cause.code === "CSV_QUOTE_NOT_CLOSED"
          ? wrong(Math.max(lastLine, names.length === 0 ? 0 : 1) + 1, "a quote in this row is not closed", cause)
          : wrong(line, Reason.of(cause), cause)
      }
      return Stream.fromAsyncIterable<CsvRecord, DatasetError>(records, failed).pipe(
        Stream.mapEffect(({ info, record }) => {
          const problem = headingProblem(names, isTabs(path))
          return problem === undefined
            ? Effect.succeed<CsvRow>({ value: record, row: info.lines, unit: "line" })
            : Effect.fail(wrong(1, problem))
        })
      )
    })
  )

const isTabs = (path: string): boolean => /\.tsv(\.gz)?$/i.test(path)

const separators: ReadonlyArray<readonly [mark: string, name: string]> = [
  [";", "semicolons"],
  ["\t", "tabs"],
  ["|", "bars"]
]

/** The problem with the names of the columns, if any. */
const headingProblem = (names: ReadonlyArray<string>, isOfTabs: boolean): string | undefined => {
  const [only = ""] = names
  const others = isOfTabs ? [[",", "commas"] as const, ...separators] : separators
  const [, separator] = (names.length === 1 && others.find(([mark]) => only.includes(mark))) || []
  if (separator !== undefined) {
    return `one column is named ${JSON.stringify(only)}: values must be separated by ${isOfTabs ? "tabs" : "commas"}, not by ${separator}`
  }
  const empty = names.findIndex((name) => name.trim() === "")
  if (empty !== -1) return `column ${empty + 1} has no name (the names are ${names.join(", ")})`
  const twice = names.find((name, at) => names.indexOf(name) < at)
  return twice === undefined ? undefined : `two columns are named ${JSON.stringify(twice)}: rename one of them`
}
