/** Encodes rows as lines, and reads the rows of a file to append to. */
import * as ExactJson from "@atropos/core/base/json/ExactJson"
import * as JsonLines from "@atropos/core/data/JsonLines"
import { Effect, Predicate, Stream } from "effect"
import { CommandFailed, UsageError } from "../base/Failure.ts"
import { type Row, scoreColumns } from "./Layout.ts"
import * as ParquetFile from "./ParquetFile.ts"

export type Container = "jsonl" | "parquet"

/**
 * Scores are written with a decimal point, so that readers that infer types from the first rows do not take them for
 * integers.
 */
const valueText = (column: string, value: unknown): string => {
  const isWholeScore = scoreColumns.has(column) && Number.isInteger(value) && Math.abs(Number(value)) < 1e15
  return isWholeScore ? `${Number(value)}.0` : (ExactJson.write(value) ?? "null")
}

/** A row as a line without its line break. */
export const lineOf = (row: Row): string =>
  `{${Object.entries(row)
    .map(([column, value]) => `${JSON.stringify(column)}:${valueText(column, value)}`)
    .join(",")}}`

interface FoundRow {
  readonly row: Row
  readonly text: string
}

/** The rows of a file; fails before anything is written if it has a different format. */
export const read = (file: string, container: Container, columns: ReadonlyArray<string>) => {
  const refuse = (place: string, found: string) =>
    new UsageError({
      message: `${file}, ${place}: ${found}; new rows have ${columns.join(", ")}. Use another path, or the same options`
    })
  const check = (row: unknown, place: string, text?: string): Effect.Effect<FoundRow, UsageError> => {
    if (!Predicate.isReadonlyObject(row)) return Effect.fail(refuse(place, "is not a row"))
    const isComplete = columns.every((column) => row[column] !== undefined && row[column] !== null)
    return isComplete
      ? Effect.succeed({ row, text: text ?? lineOf(row) })
      : Effect.fail(refuse(place, `has ${Object.keys(row).join(", ")}`))
  }
  if (container === "parquet") {
    return ParquetFile.read(file).pipe(
      Stream.zipWithIndex,
      Stream.mapEffect(([row, index]) => check(row, `row ${index + 1}`))
    )
  }
  return Stream.unwrap(
    Effect.as(
      Effect.mapError(JsonLines.inspect(file, "a row of a data set"), ({ message }) => new UsageError({ message })),
      JsonLines.read(file).pipe(
        Stream.mapError(({ message }) => new CommandFailed({ message })),
        Stream.mapEffect((line) => {
          const place = `line ${line.number}`
          if (line._tag === "Faulty") return Effect.fail(refuse(place, line.problem))
          return parseJson(line.text).pipe(
            Effect.mapError(() => refuse(place, "is not JSON")),
            Effect.flatMap((value) => check(value, place, line.text))
          )
        })
      )
    )
  )
}

const parseJson = (text: string) => Effect.try({ try: () => ExactJson.parseWritten(text), catch: (cause) => cause })
