/**
 * Rows of a local `.jsonl`, `.json`, `.csv` or `.parquet` file as a stream of undecoded values with their line or row number.
 *
 * Text is read in pieces of 256 KiB and parsed row by row; parquet is read by a worker thread: no file blocks the event loop.
 * CSV takes the first line as names and gives strings.
 */
import { Array as Arr, Effect, FileSystem, Option, Stream } from "effect"
import { createReadStream } from "node:fs"
import { extname } from "node:path"
import { Worker } from "node:worker_threads"
import { DatasetError } from "../DatasetError.ts"
import * as JsonPieces from "./JsonPieces.ts"
import { messageOf } from "./messageOf.ts"

export interface Row {
  readonly value: unknown
  /** Line of a text file, else number of the row; from 1. */
  readonly row: number
  readonly unit: "line" | "row"
}

type Rows<R = never> = Stream.Stream<Row, DatasetError, R>

/** Whether a source is a path to a file of a kind known here. */
export const isFile = (source: string): boolean => Object.hasOwn(readers, extname(source).toLowerCase())

/** The rows of the file at `path`; errors speak of `source`. */
export const read = (source: string, path: string): Rows<FileSystem.FileSystem> => {
  const reader = readers[extname(path).toLowerCase()]
  return reader === undefined
    ? Stream.fail(new DatasetError({ source, message: `${path} is none of ${Object.keys(readers).join(", ")}` }))
    : reader(source, path)
}

const unreadable = (source: string, path: string, cause: unknown): DatasetError =>
  new DatasetError({ source, message: `${path} cannot be read: ${messageOf(cause)}`, cause })

const json =
  (makeCutter: () => JsonPieces.Cutter, unit: "line" | "row") =>
  (source: string, path: string): Rows<FileSystem.FileSystem> =>
    Stream.unwrap(
      Effect.gen(function* () {
        const files = yield* FileSystem.FileSystem
        const cutter = makeCutter()
        return files.stream(path, { chunkSize: 256 * 1024 }).pipe(
          Stream.mapError((cause) => unreadable(source, path, cause)),
          Stream.decodeText,
          Stream.map(cutter.push),
          Stream.concat(Stream.suspend(() => Stream.succeed(cutter.end()))),
          Stream.filter(Arr.isReadonlyArrayNonEmpty),
          Stream.flattenArray,
          Stream.mapArrayEffect(
            Effect.forEach(({ row, text }) =>
              Effect.try({
                try: (): Row => ({ value: JSON.parse(text), row, unit }),
                catch: (cause) =>
                  new DatasetError({
                    source,
                    row,
                    message: `${path}, ${unit} ${row}: not JSON: ${messageOf(cause)}`,
                    cause
                  })
              })
            )
          )
        )
      })
    )

/** What csv-parse yields with `info`, and its errors' place. */
interface CsvRecord {
  readonly record: { readonly [name: string]: string }
  readonly info: { readonly lines: number }
}

const csv = (source: string, path: string): Rows =>
  Stream.unwrap(
    Effect.gen(function* () {
      const { parse } = yield* Effect.promise(() => import("csv-parse"))
      const file = yield* Effect.acquireRelease(
        Effect.sync(() => createReadStream(path)),
        // A parser that is destroyed leaves the file it reads from open.
        (stream) => Effect.sync(() => stream.destroy())
      )
      const records = parse({ bom: true, columns: true, info: true, skip_empty_lines: true })
      file.on("error", (error) => records.destroy(error)).pipe(records)
      return Stream.fromAsyncIterable<CsvRecord, DatasetError>(records, (cause) => {
        const line = cause instanceof Error && "lines" in cause ? Number(cause.lines) : undefined
        return line === undefined
          ? unreadable(source, path, cause)
          : new DatasetError({ source, row: line, message: `${path}, line ${line}: ${messageOf(cause)}`, cause })
      }).pipe(Stream.map(({ info, record }) => ({ value: record, row: info.lines, unit: "line" as const })))
    })
  )

/** Sources are run as they are, the published package as JavaScript. */
const workerFile = new URL(`./parquetWorker${extname(import.meta.url)}`, import.meta.url)

type WorkerAnswer = { readonly rows: ReadonlyArray<unknown> | null } | { readonly error: string }

const parquet = (source: string, path: string): Rows<FileSystem.FileSystem> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      yield* files.access(path, { readable: true }).pipe(Effect.mapError((cause) => unreadable(source, path, cause)))
      const worker = yield* Effect.acquireRelease(
        Effect.sync(() => new Worker(workerFile, { workerData: path })),
        (worker) => Effect.promise(() => worker.terminate())
      )
      const next = Effect.callback<ReadonlyArray<unknown> | null, DatasetError>((resume) => {
        const settle = (effect: Effect.Effect<ReadonlyArray<unknown> | null, DatasetError>): void => {
          worker.off("message", onMessage).off("error", onError)
          resume(effect)
        }
        const onError = (cause: unknown): void => settle(Effect.fail(unreadable(source, path, cause)))
        const onMessage = (answer: WorkerAnswer): void =>
          "rows" in answer ? settle(Effect.succeed(answer.rows)) : onError(new Error(answer.error))
        worker.on("message", onMessage).on("error", onError)
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread has no origin
        worker.postMessage("next")
        return Effect.sync(() => worker.off("message", onMessage).off("error", onError))
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
  ".jsonl": json(JsonPieces.lines, "line"),
  ".ndjson": json(JsonPieces.lines, "line"),
  ".json": json(JsonPieces.elements, "row"),
  ".csv": csv,
  ".parquet": parquet
}
