/**
 * A Weights & Biases run in a folder: all records, whether or not a server has them yet.
 *
 *     run.json          its identity: id, project, group, name, settings
 *     records.jsonl     the records, in order (`Rows`)
 *     files/            tables, at their paths on the server
 *     uploaded.json     how much of it the server has
 *
 * One process at a time writes to a folder. Rows are determined by the records alone, so a folder can be uploaded at
 * any later time, by any process, repeatedly, with the same lines at the same offsets.
 */
import { Effect, FileSystem, Option, Path, type PlatformError, Result, Schema, type Scope, Stream } from "effect"
import * as FolderLock from "../../base/FolderLock.ts"
import * as AppendFile from "../AppendFile.ts"
import { Part } from "./Rows.ts"

export const Run = Schema.Struct({
  version: Schema.Literal(1),
  id: Schema.String,
  kind: Schema.Literals(["environment", "trainer"]),
  key: Schema.String,
  /** Prefix of its metrics' names, even if the service assigns the source another name later. */
  prefix: Schema.String,
  project: Schema.String,
  entity: Schema.NullOr(Schema.String),
  group: Schema.NullOr(Schema.String),
  name: Schema.NullOr(Schema.String),
  host: Schema.String,
  /** Milliseconds since the epoch. */
  startedAt: Schema.Finite,
  /** The id was given: the server may have lines that this folder lacks. */
  isAttached: Schema.Boolean,
  config: Schema.Record(Schema.String, Schema.Unknown)
})
export type Run = typeof Run.Type

export const Uploaded = Schema.Struct({
  /** The run on its server; null before the first contact. */
  place: Schema.NullOr(Schema.Struct({ entity: Schema.String, project: Schema.String, run: Schema.String })),
  /** Lines that the server had before this folder's. */
  base: Schema.Natural,
  /** Step of the last of those: this folder's rows up to it repeat earlier work, and are not sent. */
  after: Schema.NullOr(Schema.Finite),
  /** Number of this folder's rows that the server has. */
  rows: Schema.Natural,
  /** True if the server knows how it ended. */
  isComplete: Schema.Boolean
})
export type Uploaded = typeof Uploaded.Type

/** The folder is invalid or in use. */
export class JournalError extends Schema.TaggedError<JournalError>()("JournalError", {
  message: Schema.String,
  /** Another process writes to it. */
  isHeld: Schema.Boolean,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

const nothing: Uploaded = { place: null, base: 0, after: null, rows: 0, isComplete: false }

const json = {
  run: Schema.fromJsonString(Run),
  uploaded: Schema.fromJsonString(Uploaded),
  part: Schema.fromJsonString(Part)
}
const decode = {
  run: Schema.decodeUnknownEffect(json.run),
  uploaded: Schema.decodeUnknownEffect(json.uploaded),
  part: Schema.decodeUnknownOption(json.part)
}
const encode = {
  run: Schema.encodeEffect(json.run),
  uploaded: Schema.encodeEffect(json.uploaded),
  part: Schema.encodeSync(json.part)
}

export interface Journal {
  readonly folder: string
  readonly run: Run
  readonly uploaded: () => Uploaded
  readonly saveUploaded: (next: Uploaded) => Effect.Effect<void, PlatformError.PlatformError>
  readonly append: (
    parts: ReadonlyArray<Part>,
    files?: ReadonlyArray<{ readonly name: string; readonly bytes: Uint8Array }>
  ) => Effect.Effect<void, PlatformError.PlatformError>
  /** Parts from a position on, a few megabytes at most, and the position after them. */
  readonly read: (
    position: number
  ) => Effect.Effect<{ readonly parts: ReadonlyArray<Part>; readonly next: number }, PlatformError.PlatformError>
  readonly file: (name: string) => Effect.Effect<Uint8Array, PlatformError.PlatformError>
  /** Bytes of records. */
  readonly size: () => number
}

const runFile = "run.json"
const searchDepth = 4
const newline = 0x0a
const bytesPerRead = 4 * 1024 * 1024
const encoder = new TextEncoder()
const decoder = new TextDecoder()

type Files = FileSystem.FileSystem | Path.Path

const strange = (file: string) => (cause: { readonly message: string }) =>
  new JournalError({
    message: `${file} is not a file of a Weights & Biases run: ${cause.message}`,
    isHeld: false,
    cause
  })

/** The identity of a folder's run; None if it has no run. */
export const readRun = Effect.fnUntraced(function* (
  folder: string
): Effect.fn.Return<Option.Option<Run>, JournalError, Files> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const file = path.join(folder, runFile)
  if (!(yield* Effect.orElseSucceed(fs.exists(file), () => false))) return Option.none()
  return yield* fs.readFileString(file).pipe(Effect.flatMap(decode.run), Effect.mapError(strange(file)), Effect.asSome)
})

const open = Effect.fnUntraced(function* (
  folder: string,
  run: Run
): Effect.fn.Return<Journal, JournalError | PlatformError.PlatformError, Files | Scope.Scope> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  yield* Effect.mapError(
    FolderLock.hold(folder),
    (cause) => new JournalError({ message: cause.message, isHeld: cause.isHeld, cause })
  )
  const records = path.join(folder, "records.jsonl")
  const uploadedFile = path.join(folder, "uploaded.json")
  const log = yield* AppendFile.open(records, { lines: true })
  let uploaded = (yield* fs.exists(uploadedFile))
    ? yield* fs
        .readFileString(uploadedFile)
        .pipe(Effect.flatMap(decode.uploaded), Effect.mapError(strange(uploadedFile)))
    : nothing

  return {
    folder,
    run,
    uploaded: () => uploaded,
    saveUploaded: Effect.fnUntraced(function* (next) {
      yield* fs.writeFileString(`${uploadedFile}.new`, yield* Effect.orDie(encode.uploaded(next)))
      yield* fs.rename(`${uploadedFile}.new`, uploadedFile)
      uploaded = next
    }),
    append: Effect.fnUntraced(function* (parts, files = []) {
      for (const { bytes, name } of files) {
        const file = path.join(folder, "files", name)
        yield* fs.makeDirectory(path.dirname(file), { recursive: true })
        yield* fs.writeFile(file, bytes)
      }
      yield* log.append(encoder.encode(parts.map((part) => `${encode.part(part)}\n`).join("")))
    }),
    read: Effect.fnUntraced(function* (position) {
      const rest = log.size() - position
      if (rest <= 0) return { parts: [], next: position }
      let bytes = new Uint8Array()
      let end = 0
      // Reads more if a line is longer than one read.
      for (let length = bytesPerRead; end === 0; length *= 2) {
        const chunks = yield* fs
          .stream(records, { offset: position, bytesToRead: Math.min(length, rest) })
          .pipe(Stream.runCollect)
        bytes = Buffer.concat(chunks)
        end = bytes.lastIndexOf(newline) + 1
        if (length >= rest) break
      }
      const lines = decoder.decode(bytes.subarray(0, end)).split("\n")
      // A line truncated by a crash counts as not recorded.
      const parts = lines.flatMap((line) => (line === "" ? [] : Option.toArray(decode.part(line))))
      return { parts, next: position + end }
    }),
    file: (name) => fs.readFile(path.join(folder, "files", name)),
    size: log.size
  }
})

export const reopen = Effect.fn("Journal.reopen")(function* (folder: string) {
  const run = yield* readRun(folder)
  if (Option.isNone(run)) {
    return yield* new JournalError({
      message: `${folder} has no ${runFile}: it is not a Weights & Biases run`,
      isHeld: false
    })
  }
  return yield* open(folder, run.value)
})

/** Creates the folder of a new run, or opens an existing one. */
export const create = Effect.fn("Journal.create")(function* (folder: string, run: Run) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  yield* fs.makeDirectory(folder, { recursive: true })
  const file = path.join(folder, runFile)
  yield* fs.writeFileString(`${file}.new`, `${yield* Effect.orDie(encode.run(run))}\n`)
  yield* fs.rename(`${file}.new`, file)
  return yield* open(folder, run)
})

/** Folders of runs in a folder, possibly including itself; newest last. Unreadable ones are reported and skipped. */
export const find = Effect.fn("Journal.find")(function* (
  folder: string,
  onStrange: (error: JournalError) => Effect.Effect<void>
) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const journals: Array<{ readonly folder: string; readonly run: Run }> = []
  const visit = (at: string, depth: number): Effect.Effect<void, PlatformError.PlatformError, Files> =>
    Effect.gen(function* () {
      const read = yield* Effect.result(readRun(at))
      if (Result.isFailure(read)) return yield* onStrange(read.failure)
      if (Option.isSome(read.success)) {
        journals.push({ folder: at, run: read.success.value })
        return
      }
      if (depth === 0) return
      for (const name of (yield* fs.readDirectory(at)).toSorted()) {
        const inner = path.join(at, name)
        const { type } = yield* fs.stat(inner)
        if (type === "Directory") yield* visit(inner, depth - 1)
      }
    })
  if (yield* fs.exists(folder)) yield* visit(folder, searchDepth)
  return journals.toSorted((a, b) => a.run.startedAt - b.run.startedAt)
})
