/**
 * Reads a local `.jsonl`, `.json`, `.csv`, `.tsv` or `.parquet` file, text also compressed (`.gz`), as a stream of
 * undecoded values with their line or row number.
 *
 * A line of JSON Lines that is not JSON (a truncated file, a broken download) is reported with its number, skipped and
 * counted; a file without a single valid one is an error. Text is read in chunks of 256 KiB and parsed row by row;
 * parquet is read by a worker thread: no file blocks the event loop. CSV uses the first line as names and gives
 * strings.
 */
import * as NodeStream from "@effect/platform-node/NodeStream"
import { Array as Arr, Effect, FileSystem, Option, Predicate, Result, Stream } from "effect"
import { extname } from "node:path"
import * as FileBytes from "./FileBytes.ts"
import * as CsvFile from "./CsvFile.ts"
import { DatasetError } from "./DatasetError.ts"
import * as JsonLines from "./JsonLines.ts"
import * as JsonPieces from "./JsonPieces.ts"
import * as ParquetDecimals from "./ParquetDecimals.ts"
import * as RowText from "./RowText.ts"
import * as Reason from "../base/Reason.ts"
import * as Thread from "../base/Thread.ts"
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
  const reader = readerOf(path)
  return reader === undefined
    ? Stream.fail(
        new DatasetError({ source, message: `${path} is not a supported file of rows: expected ${extensions}` })
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

/** The bytes of a file; a compressed one is decompressed. */
const bytesOf = (path: string): Stream.Stream<Uint8Array, unknown> =>
  NodeStream.fromReadable<Uint8Array, unknown>({
    evaluate: () => FileBytes.open(path, 256 * 1024),
    onError: (cause) => cause
  })

const json = (source: string, path: string): Rows =>
  Stream.unwrap(
    Effect.sync(() => {
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
      return bytesOf(path).pipe(
        Utf8.text,
        Stream.mapError((cause) => unreadable(source, path, cause)),
        Stream.map(cutter.push),
        Stream.concat(Stream.suspend(() => Stream.succeed(cutter.end()))),
        Stream.filter(Arr.isReadonlyArrayNonEmpty),
        Stream.flattenArray,
        Stream.mapArrayEffect(
          Effect.forEach(({ row, text }) =>
            Result.match(RowText.parse(text), {
              onSuccess: (value) => {
                if (++rows === 1) first = value
                return Effect.succeed<Row>({ value, row, unit: "row" })
              },
              onFailure: (cause) =>
                Effect.fail(
                  new DatasetError({
                    source,
                    row,
                    message: `${path}, row ${row}: ${RowText.problem(cause)}`,
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
      yield* Effect.mapError(JsonLines.inspect(path, "JSON of a row", FileBytes.isCompressed(path)), failed)
      let rows = 0
      const faults: Array<string> = []
      const rowOf = (line: JsonLines.Line): Row | undefined => {
        const value = line._tag === "Text" ? RowText.parse(line.text) : Result.fail(line.problem)
        if (Result.isSuccess(value)) {
          rows++
          return { value: value.success, row: line.number, unit: "line" }
        }
        const reason = line._tag === "Text" ? RowText.problem(value.failure) : line.problem
        faults.push(`${path}, line ${line.number}: ${reason}`)
        return undefined
      }
      const report = Effect.suspend(() => {
        if (faults.length === 0) return Effect.void
        if (rows === 0) return Effect.fail(new DatasetError({ source, message: `no valid lines: ${faults[0]}` }))
        return Effect.logWarning(
          `${path}: ${faults.length} of ${rows + faults.length} lines are invalid and were skipped`
        )
      })
      let warnings = 0
      const notify = Effect.suspend(() => {
        const news = faults.slice(warnings, toldFaults)
        warnings += news.length
        return Effect.forEach(news, (fault) => Effect.logWarning(`skipped: ${fault}`), { discard: true })
      })
      return JsonLines.read(path, { isDecompressed: FileBytes.isCompressed(path) }).pipe(
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
  ".csv": CsvFile.read,
  ".tsv": CsvFile.read,
  ".parquet": parquet
}

/** All extensions, for messages. */
export const extensions = `${Object.keys(readers).join(", ")}, text also with .gz`

const uncompressed = (path: string): string => (path.endsWith(".parquet.gz") ? path : path.replace(/\.gz$/i, ""))

const readerOf = (path: string) => readers[extname(uncompressed(path)).toLowerCase()]

export const isSupported = (path: string): boolean => readerOf(path) !== undefined

/** A file's name without its extensions. */
export const stem = (name: string): string => uncompressed(name).slice(0, -extname(uncompressed(name)).length)
