/**
 * Writes a JSONL file with a checkpoint next to it (`groups.jsonl` and `groups.checkpoint.json`), so that a run can be
 * resumed with each item in the file exactly once.
 *
 * An initial checkpoint identifies the file's run. Lines are written before the checkpoint with the file's length and
 * the finished items; on opening, anything after that length is truncated and rolled out again. A file without lines is
 * removed with the scope.
 */
import { Effect, FileSystem, Option, type PlatformError, Schema } from "effect"
import * as Cursor from "@atropos/core/rollout/state/Cursor"
import * as SameFile from "@atropos/core/base/system/SameFile"
import { CommandFailed, UsageError } from "../base/Failure.ts"
import { cannot } from "../base/FileFailure.ts"
import * as Tally from "./Tally.ts"

export const Checkpoint = Schema.Struct({
  version: Schema.Literal(1),
  /** The lines' origin: name and settings of the environment, model. A run with different values starts a new file. */
  madeBy: Schema.Record(Schema.String, Schema.Unknown),
  bytes: Schema.Natural,
  /** True if the run is complete and its results are written; nothing is appended any more. */
  isFinished: Schema.optionalKey(Schema.Boolean),
  cursor: Cursor.Saved,
  tally: Tally.Tally
})
export type Checkpoint = typeof Checkpoint.Type

const CheckpointJson = Schema.fromJsonString(Checkpoint)
const decode = Schema.decodeUnknownEffect(CheckpointJson)
const encode = Schema.encodeEffect(CheckpointJson)

export const checkpointPath = (file: string): string => `${file.replace(/\.[^./\\]*$/, "")}.checkpoint.json`

/** The checkpoint of a file, if both exist; an empty file without one counts as missing. */
export const inspect = Effect.fn("ResumableFile.inspect")(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  const checkpointFile = checkpointPath(file)
  const exists = (path: string) => fs.exists(path).pipe(Effect.mapError(cannot("access", path)))
  if (!(yield* exists(file))) return { exists: false, checkpoint: Option.none<Checkpoint>() }
  const { size, type } = yield* fs.stat(file).pipe(Effect.mapError(cannot("access", file)))
  const isEmpty = type === "File" && size === 0n
  if (!(yield* exists(checkpointFile))) return { exists: !isEmpty, checkpoint: Option.none<Checkpoint>() }
  const text = yield* fs.readFileString(checkpointFile).pipe(Effect.mapError(cannot("read", checkpointFile)))
  const checkpoint = yield* decode(text).pipe(
    Effect.mapError(
      () =>
        new UsageError({
          message: `${checkpointFile} is not a checkpoint of this version; remove it, or use another path`
        })
    )
  )
  // A run killed before its first line: there is nothing to overwrite.
  if (isEmpty && checkpoint.bytes === 0) return { exists: false, checkpoint: Option.none<Checkpoint>() }
  return { exists: true, checkpoint: Option.some(checkpoint) }
})

export interface ResumableFile {
  readonly path: string
  /** Bytes after the checkpoint that were truncated. */
  readonly repairedBytes: number
  /** Appends the lines, then saves the checkpoint; completes when both are on disk. */
  readonly append: (
    lines: ReadonlyArray<string>,
    state: Pick<Checkpoint, "cursor" | "tally">
  ) => Effect.Effect<void, CommandFailed>
  readonly finish: Effect.Effect<void, CommandFailed>
}

/** `isKept`: what was written before stays, with its checkpoint. */
const cannotContinue = (path: string, isKept: boolean) => (cause: PlatformError.PlatformError) => {
  const { message } = cannot("write", path)(cause)
  return new CommandFailed({
    message: isKept ? `${message}. What is finished is kept: run the same command again to continue` : message,
    cause
  })
}

const removed = (path: string) =>
  new CommandFailed({
    message: `${path} was removed or replaced while this run wrote it, and what it contained is lost: start again with --no-resume`
  })

/**
 * Opens a file for one run: a new one, or an existing one at its checkpoint. The caller holds its lock
 * (`Destination.find`).
 */
export const open = Effect.fn("ResumableFile.open")(function* (
  path: string,
  madeBy: Checkpoint["madeBy"],
  checkpoint: Option.Option<Checkpoint>
) {
  const fs = yield* FileSystem.FileSystem
  const checkpointFile = checkpointPath(path)
  const file = yield* fs
    .open(path, { flag: Option.isSome(checkpoint) ? "r+" : "w" })
    .pipe(Effect.mapError(cannot("open", path)))
  let bytes = Option.match(checkpoint, { onNone: () => 0, onSome: ({ bytes }) => bytes })
  const { size } = yield* file.stat.pipe(Effect.mapError(cannot("access", path)))
  if (Number(size) < bytes) {
    return yield* new UsageError({
      message: `${path} has ${size} bytes, but ${checkpointFile} states ${bytes}: it was truncated. Remove both, or use another path`
    })
  }
  const repairedBytes = Number(size) - bytes
  if (repairedBytes > 0) yield* file.truncate(bytes).pipe(Effect.mapError(cannot("shorten", path)))
  yield* file.seek(BigInt(bytes), "start").pipe(Effect.mapError(cannot("write", path)))

  // Otherwise the next run would avoid it as another run's file.
  yield* Effect.addFinalizer(() =>
    bytes > 0
      ? Effect.void
      : Effect.forEach([path, checkpointFile], (one) => Effect.ignore(fs.remove(one, { force: true })), {
          discard: true
        })
  )

  const isThere = Effect.provideService(SameFile.isAt(file, path), FileSystem.FileSystem, fs)
  let isKept = bytes > 0
  const encoder = new TextEncoder()
  let last: Pick<Checkpoint, "cursor" | "tally"> | undefined = Option.getOrUndefined(checkpoint)
  const save = Effect.fnUntraced(
    function* (state: Pick<Checkpoint, "cursor" | "tally" | "isFinished">) {
      const text = yield* Effect.orDie(encode({ version: 1, madeBy, bytes, ...state }))
      yield* fs.writeFileString(`${checkpointFile}.new`, text)
      yield* fs.rename(`${checkpointFile}.new`, checkpointFile)
      isKept = bytes > 0
    },
    Effect.mapError((cause) => cannotContinue(checkpointFile, isKept)(cause))
  )
  // Otherwise lines written before the first checkpoint by a run that was killed would seem to belong to another run.
  if (Option.isNone(checkpoint)) yield* save({ cursor: Cursor.start, tally: Tally.empty })
  const append: ResumableFile["append"] = Effect.fnUntraced(function* (lines, state) {
    if (lines.length > 0) {
      const content = encoder.encode(lines.map((line) => `${line}\n`).join(""))
      yield* file.writeAll(content).pipe(Effect.andThen(file.sync), Effect.mapError(cannotContinue(path, isKept)))
      if (!(yield* Effect.mapError(isThere, cannot("access", path)))) return yield* removed(path)
      bytes += content.length
    }
    last = state
    yield* save(state)
  })
  const finish = Effect.suspend(() =>
    last === undefined ? Effect.void : save({ cursor: last.cursor, tally: last.tally, isFinished: true })
  )
  return { path, repairedBytes, append, finish } satisfies ResumableFile
})
