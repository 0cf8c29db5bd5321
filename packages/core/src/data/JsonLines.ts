/**
 * Reads lines of a text file, each with its number and its byte position; used for all JSON Lines.
 *
 * A file is read in chunks of 256 KiB, so its size does not matter. An invalid line (longer than the limit, not UTF-8)
 * becomes a fault with its number, and reading continues after it; blank lines are counted and skipped. A file in
 * another format (a folder, parquet, an archive, UTF-16) fails at the start with the expected format.
 */
import * as NodeStream from "@effect/platform-node/NodeStream"
import { Array as Arr, Effect, FileSystem, Result, Schema, Stream } from "effect"
import type { PlatformError } from "effect/PlatformError"
import { createReadStream } from "node:fs"
import * as Reason from "../base/Reason.ts"
import * as FileBytes from "./FileBytes.ts"

/** The file is absent, unreadable, or in another format. */
export class JsonLinesError extends Schema.TaggedError<JsonLinesError>()("JsonLinesError", {
  path: Schema.String,
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

/** The beginning of a line: bytes before it, lines before it. */
export interface Position {
  readonly offset: number
  readonly lines: number
}

export const start: Position = { offset: 0, lines: 0 }

interface LineRange {
  /** From 1. */
  readonly number: number
  /** Its first byte. */
  readonly start: number
  /** The byte after it, including its line break. */
  readonly end: number
}

export interface TextLine extends LineRange {
  readonly _tag: "Text"
  readonly text: string
  /** True if a line break follows; a last line without one may be truncated, or still being written. */
  readonly isTerminated: boolean
}

export interface FaultyLine extends LineRange {
  readonly _tag: "Faulty"
  readonly problem: string
}

export type Line = TextLine | FaultyLine

export interface Options {
  /** Default: the beginning of the file. */
  readonly from?: Position
  /** Longer lines are faults. Default: 64 MiB, four times the service's limit of a group. */
  readonly maxLineBytes?: number
  /** Decompresses a file by gzip; positions are then those in its text, and `from` must be the beginning. */
  readonly isDecompressed?: boolean
}

const defaultMaxLineBytes = 64 * 1024 * 1024
const chunkSize = 256 * 1024
const newline = 0x0a
const carriageReturn = 0x0d

/** Splits bytes into lines as they arrive. */
export const cutter = (from: Position = start, maxLineBytes: number = defaultMaxLineBytes) => {
  const decoder = new TextDecoder("utf-8", { fatal: true })
  let { lines, offset } = from
  let parts: Array<Uint8Array> = []
  let pendingBytes = 0

  const take = (last: Uint8Array, isTerminated: boolean): ReadonlyArray<Line> => {
    const length = pendingBytes + last.length
    const place = { number: ++lines, start: offset, end: offset + length + (isTerminated ? 1 : 0) }
    offset = place.end
    const bytes = parts.length === 0 ? last : Buffer.concat([...parts, last])
    parts = []
    pendingBytes = 0
    if (length > maxLineBytes) {
      const problem = `has ${length.toLocaleString("en-US")} bytes; the limit is ${maxLineBytes.toLocaleString("en-US")}`
      return [{ _tag: "Faulty", problem, ...place }]
    }
    if (isBlank(bytes)) return []
    const text = Result.try(() => decoder.decode(bytes))
    return Result.isFailure(text)
      ? [{ _tag: "Faulty", problem: "is not UTF-8 text", ...place }]
      : [{ _tag: "Text", text: text.success, isTerminated, ...place }]
  }

  return {
    push: (chunk: Uint8Array): ReadonlyArray<Line> => {
      const complete: Array<Line> = []
      let at = 0
      for (;;) {
        const end = chunk.indexOf(newline, at)
        if (end < 0) break
        complete.push(...take(chunk.subarray(at, end), true))
        at = end + 1
      }
      const rest = chunk.subarray(at)
      // Anything beyond the limit is counted, not kept.
      if (pendingBytes + rest.length <= maxLineBytes) parts.push(rest)
      else parts = []
      pendingBytes += rest.length
      return complete
    },
    /** The last line, if the file does not end in a line break. */
    end: (): ReadonlyArray<Line> => (pendingBytes === 0 ? [] : take(new Uint8Array(), false))
  }
}

const isBlank = (bytes: Uint8Array): boolean =>
  bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === carriageReturn)

const signatures: ReadonlyArray<readonly [bytes: ReadonlyArray<number>, what: string, advice: string]> = [
  [[0x1f, 0x8b], "compressed by gzip", "; decompress it first: gunzip -k"],
  [[0x28, 0xb5, 0x2f, 0xfd], "compressed by zstd", "; decompress it first: unzstd"],
  [[0x50, 0x41, 0x52, 0x31], "a parquet file", ""],
  [[0x50, 0x4b, 0x03, 0x04], "a zip archive", "; unpack it first"],
  [[0xff, 0xfe], "text in UTF-16", "; convert it to UTF-8"],
  [[0xfe, 0xff], "text in UTF-16", "; convert it to UTF-8"]
]

const isGzip = ([[first]]: (typeof signatures)[number]): boolean => first === 0x1f

const unreadable = (path: string) => (cause: PlatformError) =>
  new JsonLinesError({
    path,
    message: `${path} cannot be read: ${cause.reason._tag === "NotFound" ? "file not found" : cause.reason._tag}`,
    cause
  })

/** Fails if a path is not a file of lines; `what` describes the expected lines, `isDecompressed` allows gzip. */
export const inspect = Effect.fn("JsonLines.inspect")(function* (path: string, what: string, isDecompressed = false) {
  const fs = yield* FileSystem.FileSystem
  const { type } = yield* Effect.mapError(fs.stat(path), unreadable(path))
  const expected = `expected a JSON Lines file: ${what} on each line`
  if (type === "Directory") return yield* new JsonLinesError({ path, message: `${path} is a folder; ${expected}` })
  // A pipe can be read only once.
  if (type !== "File") return
  const file = yield* Effect.mapError(fs.open(path, { flag: "r" }), unreadable(path))
  const head = new Uint8Array(4)
  yield* Effect.mapError(file.read(head), unreadable(path))
  const signature = signatures.find(([bytes]) => bytes.every((byte, index) => head[index] === byte))
  if (signature !== undefined && !(isGzip(signature) && isDecompressed)) {
    return yield* new JsonLinesError({ path, message: `${path} is ${signature[1]}; ${expected}${signature[2]}` })
  }
}, Effect.scoped)

/** The lines of a file from a position to its end at the time it is reached. */
export const read = (
  path: string,
  { from = start, isDecompressed = false, maxLineBytes = defaultMaxLineBytes }: Options = {}
): Stream.Stream<Line, JsonLinesError> =>
  Stream.suspend(() => {
    const cutting = cutter(from, maxLineBytes)
    return NodeStream.fromReadable<Uint8Array, JsonLinesError>({
      // Supports pipes, unlike a file system with positions.
      evaluate: () =>
        isDecompressed
          ? FileBytes.open(path, chunkSize)
          : createReadStream(path, { highWaterMark: chunkSize, ...(from.offset > 0 && { start: from.offset }) }),
      onError: (cause) => new JsonLinesError({ path, message: `${path} cannot be read: ${Reason.of(cause)}`, cause })
    }).pipe(
      Stream.map(cutting.push),
      Stream.concat(Stream.suspend(() => Stream.succeed(cutting.end()))),
      Stream.filter(Arr.isReadonlyArrayNonEmpty),
      Stream.flattenArray
    )
  })
