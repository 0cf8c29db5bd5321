/**
 * Reads a local `.jsonl`, `.json`, `.csv` or `.parquet` file as a stream of undecoded values with their line or row
 * number.
 *
 * A line of JSON Lines that is not JSON (a truncated file, a broken download) is reported with its number, skipped and
 * counted; a file without a single valid one is an error. Text is read in chunks of 256 KiB and parsed row by row;
 * parquet is read by a worker thread: no file blocks the event loop. CSV uses the first line as names and gives
 * strings.
 */
import { Array as Arr, Effect, FileSystem, Option, Predicate, Result, Stream } from "effect"
import { createReadStream } from "node:fs"
import { extname } from "node:path"
import { DatasetError } from "./DatasetError.ts"
import * as ExactJson from "../base/json/ExactJson.ts"
import * as JsonLines from "./JsonLines.ts"
import * as JsonPieces from "./JsonPieces.ts"
import * as ParquetDecimals from "./ParquetDecimals.ts"
import * as Reason from "../base/Reason.ts"
import * as Thread from "../base/Thread.ts"
import * as Nesting from "../base/json/Nesting.ts"
import * as Utf8 from "./Utf8.ts"

export interface Row {
  /** Numbers that a `number` would round or write differently are `ExactJson.Numeral`s. */
  readonly value: unknown
  /** Line of a text file, else number of the row; from 1. */
  readonly row: number
  readonly unit: "line" | "row"
}

type Rows<R = never> = Stream.Stream<Row, DatasetError, R>

/** The rows of the file at `path`; errors name `source`. */
export const read = (source: string, path: string): Rows<FileSystem.FileSystem> => {
  const reader = readers[extname(path).toLowerCase()]
  return reader === undefined
    ? Stream.fail(
        new DatasetError({
          source,
          message: `${path} is not a supported file of rows: expected ${Object.keys(readers).join(", ")}`
        })
      )
    : Stream.unwrap(Effect.as(regular(source, path), reader(source, path)))
}

/** Fails for a pipe or a device: opening one may wait forever, beyond signals, and rows are read several times. */
const regular = Effect.fn("RowFiles.regular")(function* (source: string, path: string) {
  const fs = yield* FileSystem.FileSystem
  const type = yield* Effect.match(fs.stat(path), {
    // The reader reports why.
    onFailure: () => "File",
    onSuccess: (info) => info.type
  })
  if (type === "File" || type === "Directory") return
  const message = `${path} is not a regular file but a ${type}: rows are read several times, so write them to a file first`
  return yield* new DatasetError({ source, message })
})

const unreadable = (source: string, path: string, cause: unknown): DatasetError =>
  new DatasetError({ source, message: `${path} cannot be read: ${Reason.of(cause)}`, cause })

/** Deeper nesting than in any row is rejected: recursion over it would crash the process. */
const parse = (text: string): Result.Result<unknown, unknown> =>
  Nesting.isDeep(text)
    ? Result.fail(new SyntaxError("nested more than 200 levels deep"))
    : Result.try(() => ExactJson.parseWritten(text))

const json = (source: string, path: string): Rows<FileSystem.FileSystem> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      const cutter = JsonPieces.elements()
      let rows = 0
      let first: unknown
      // Read as one row, every column would be undefined.
      const wrapper = Effect.suspend(() => {
        const key = rows === 1 && !cutter.isArray() ? wrapperOf(first) : undefined
        return key === undefined
          ? Effect.void
          : Effect.fail(
              new DatasetError({
                source,
                message: `${path} is one object, whose "${key}" contains the rows: the file itself must be the array of rows`
              })
            )
      })
      return files.stream(path, { chunkSize: 256 * 1024 }).pipe(
        Utf8.text,
        Stream.mapError((cause) => unreadable(source, path, cause)),
        Stream.map(cutter.push),
        Stream.concat(Stream.suspend(() => Stream.succeed(cutter.end()))),
        Stream.filter(Arr.isReadonlyArrayNonEmpty),
        Stream.flattenArray,
        Stream.mapArrayEffect(
          Effect.forEach(({ row, text }) =>
            Result.match(parse(text), {
              onSuccess: (value) => {
                if (++rows === 1) first = value
                return Effect.succeed<Row>({ value, row, unit: "row" })
              },
              onFailure: (cause) =>
                Effect.fail(
                  new DatasetError({
                    source,
                    row,
                    message: `${path}, row ${row}: not JSON: ${Reason.of(cause)}`,
                    cause
                  })
                )
            })
          )
        ),
        Stream.concat(Stream.fromEffectDrain(wrapper))
      )
    })
  )

const wrappers: ReadonlySet<string> = new Set(["rows", "data", "items", "examples", "records", "train"])

/** The key of an object that contains rows instead of being one. */
const wrapperOf = (value: unknown): string | undefined => {
  if (!Predicate.isReadonlyObject(value)) return undefined
  const keys = Object.keys(value)
  return keys.find((key) => {
    const inner = value[key]
    const holdsRows = Array.isArray(inner) && inner.length > 0 && inner.every((one) => Predicate.isReadonlyObject(one))
    return holdsRows && (keys.length === 1 || wrappers.has(key))
  })
}

/** Faults of a file that are reported individually; the rest is counted. */
const toldFaults = 5

const jsonLines = (source: string, path: string): Rows<FileSystem.FileSystem> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const failed = (error: JsonLines.JsonLinesError): DatasetError =>
        new DatasetError({ source, message: error.message, cause: error })
      yield* Effect.mapError(JsonLines.inspect(path, "JSON of a row"), failed)
      let rows = 0
      const faults: Array<string> = []
      const rowOf = (line: JsonLines.Line): Row | undefined => {
        const value = line._tag === "Text" ? parse(line.text) : Result.fail(line.problem)
        if (Result.isSuccess(value)) {
          rows++
          return { value: value.success, row: line.number, unit: "line" }
        }
        const reason = line._tag === "Text" ? `not JSON: ${Reason.of(value.failure)}` : line.problem
        faults.push(`${path}, line ${line.number}: ${reason}`)
        return undefined
      }
      const report = Effect.suspend(() => {
        if (faults.length === 0) return Effect.void
        if (rows === 0) return Effect.fail(new DatasetError({ source, message: `no valid lines: ${faults[0]}` }))
        return Effect.logWarning(
          `${path}: ${faults.length} of ${rows + faults.length} lines are not JSON and were skipped`
        )
      })
      let warnings = 0
      const notify = Effect.suspend(() => {
        const news = faults.slice(warnings, toldFaults)
        warnings += news.length
        return Effect.forEach(news, (fault) => Effect.logWarning(`skipped: ${fault}`), { discard: true })
      })
      return JsonLines.read(path).pipe(
        Stream.mapError(failed),
        Stream.mapArrayEffect((lines) => {
          const rows = Arr.map(lines, rowOf)
          return Effect.as(notify, rows)
        }),
        Stream.filter(Predicate.isNotUndefined),
        Stream.concat(Stream.fromEffectDrain(report))
      )
    })
  )

/** The output of csv-parse with `info`, and the location of its errors. */
interface CsvRecord {
  readonly record: { readonly [name: string]: string }
  readonly info: { readonly lines: number }
}

const csv = (source: string, path: string): Rows =>
  Stream.unwrap(
    Effect.gen(function* () {
      const { parse } = yield* Effect.promise(() => import("#csv-parse"))
      const file = yield* Effect.acquireRelease(
        Effect.sync(() => createReadStream(path)),
        // Destroying the parser does not close the file it reads from.
        (stream) => Effect.sync(() => stream.destroy())
      )
      // With two columns of the same name, a record has only the second.
      let names: ReadonlyArray<string> = []
      const columns = (heading: ReadonlyArray<string>): Array<string> => {
        names = heading
        return [...heading]
      }
      const records = parse({ bom: true, columns, info: true, skip_empty_lines: true })
      const checked = Utf8.checked()
      for (const one of [file, checked]) one.on("error", (error: Error) => records.destroy(error))
      file.pipe(checked).pipe(records)
      return Stream.fromAsyncIterable<CsvRecord, DatasetError>(records, (cause) => {
        const line = cause instanceof Error && "lines" in cause ? Number(cause.lines) : undefined
        return line === undefined
          ? unreadable(source, path, cause)
          : new DatasetError({ source, row: line, message: `${path}, line ${line}: ${Reason.of(cause)}`, cause })
      }).pipe(
        Stream.mapEffect(({ info, record }) => {
          const problem = headingProblem(names)
          return problem === undefined
            ? Effect.succeed<Row>({ value: record, row: info.lines, unit: "line" })
            : Effect.fail(new DatasetError({ source, row: 1, message: `${path}, line 1: ${problem}` }))
        })
      )
    })
  )

const separators: ReadonlyArray<readonly [mark: string, name: string]> = [
  [";", "semicolons"],
  ["\t", "tabs"],
  ["|", "bars"]
]

/** The problem with the names of a CSV's columns, if any. */
const headingProblem = (names: ReadonlyArray<string>): string | undefined => {
  const [only = ""] = names
  const [, separator] = (names.length === 1 && separators.find(([mark]) => only.includes(mark))) || []
  if (separator !== undefined) {
    return `one column is named ${JSON.stringify(only)}: values must be separated by commas, not by ${separator}`
  }
  const empty = names.findIndex((name) => name.trim() === "")
  if (empty !== -1) return `column ${empty + 1} has no name (the names are ${names.join(", ")})`
  const twice = names.find((name, at) => names.indexOf(name) < at)
  return twice === undefined ? undefined : `two columns are named ${JSON.stringify(twice)}: rename one of them`
}

const workerFile = Thread.fileBeside(import.meta.url, "parquetWorker")

type WorkerAnswer =
  | { readonly rows: ReadonlyArray<unknown>; readonly areMarked: boolean; readonly areCut: boolean }
  | { readonly rows: null }
  | { readonly error: string }

const parquet = (source: string, path: string): Rows<FileSystem.FileSystem> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      yield* files.access(path, { readable: true }).pipe(Effect.mapError((cause) => unreadable(source, path, cause)))
      const failed = (cause: unknown) => unreadable(source, path, cause)
      const thread = yield* Effect.mapError(
        Thread.start<"next", WorkerAnswer>(workerFile, { workerData: path }),
        (error) => failed(error.cause ?? error)
      )
      let isReported = false
      const next = Effect.gen(function* () {
        const answer = yield* Effect.mapError(thread.ask("next"), (error) => failed(error.cause ?? error))
        if ("error" in answer) return yield* failed(new Error(answer.error))
        if (answer.rows === null) return null
        if (answer.areCut && !isReported) {
          isReported = true
          yield* Effect.logWarning(
            `${path}: timestamps are read to the millisecond, and some have finer digits; store them as integers or text`
          )
        }
        return answer.areMarked ? answer.rows.map(ParquetDecimals.unmarked) : answer.rows
      })
      return Stream.paginate(0, (before: number) =>
        Effect.map(next, (rows) =>
          rows === null
            ? ([[], Option.none()] as const)
            : ([
                rows.map((value, index): Row => ({ value, row: before + index + 1, unit: "row" })),
                Option.some(before + rows.length)
              ] as const)
        )
      )
    })
  )

const readers: { readonly [extension: string]: (source: string, path: string) => Rows<FileSystem.FileSystem> } = {
  ".jsonl": jsonLines,
  ".ndjson": jsonLines,
  ".json": json,
  ".csv": csv,
  ".parquet": parquet
}
