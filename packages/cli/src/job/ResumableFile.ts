/**
 * A JSONL file with a checkpoint beside it (`groups.jsonl` and `groups.checkpoint.json`), so that a run can go on where
 * it ended.
 *
 * A first checkpoint says whose file it is. Lines are written first, then the checkpoint, which tells the file's length
 * and the items that are done. What lies behind that length (a crash came between, or in the middle of a line) is cut
 * off on opening; its items are not done, so they are rolled out again. So every item is in the file once, whatever
 * happened. A file that no line was written to goes with the scope.
 */
import { Effect, FileSystem, Option, Schema } from "effect"
import * as Cursor from "@atropos/core/rollout/state/Cursor"
import { type CommandFailed, UsageError } from "../base/Failure.ts"
import { cannot } from "../base/FileFailure.ts"
import * as Tally from "./Tally.ts"

export const Checkpoint = Schema.Struct({
  version: Schema.Literal(1),
  /** What made the lines: name and settings of the environment, model. A run with others starts a file of its own. */
  madeBy: Schema.Record(Schema.String, Schema.Unknown),
  bytes: Schema.Natural,
  /** Whether its end was reached; what came of it then is written, and nothing is added any more. */
  isFinished: Schema.optionalKey(Schema.Boolean),
  cursor: Cursor.Saved,
  tally: Tally.Tally
})
export type Checkpoint = typeof Checkpoint.Type

const CheckpointJson = Schema.fromJsonString(Checkpoint)
const decode = Schema.decodeUnknownEffect(CheckpointJson)
const encode = Schema.encodeEffect(CheckpointJson)

/** Where the checkpoint of a file lies. */
export const checkpointPath = (file: string): string => `${file.replace(/\.[^./\\]*$/, "")}.checkpoint.json`

/** The checkpoint of a file, if both are there; an empty file without one is none. */
export const inspect = Effect.fn("ResumableFile.inspect")(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  const beside = checkpointPath(file)
  const exists = (path: string) => fs.exists(path).pipe(Effect.mapError(cannot("look at", path)))
  if (!(yield* exists(file))) return { exists: false, checkpoint: Option.none<Checkpoint>() }
  const { size, type } = yield* fs.stat(file).pipe(Effect.mapError(cannot("look at", file)))
  const isEmpty = type === "File" && size === 0n
  if (!(yield* exists(beside))) return { exists: !isEmpty, checkpoint: Option.none<Checkpoint>() }
  const text = yield* fs.readFileString(beside).pipe(Effect.mapError(cannot("read", beside)))
  const checkpoint = yield* decode(text).pipe(
    Effect.mapError(
      () => new UsageError({ message: `${beside} is not a checkpoint of this version; remove it, or use another path` })
    )
  )
  // A run that was killed before its first line: nothing is in it that could be overwritten.
  if (isEmpty && checkpoint.bytes === 0) return { exists: false, checkpoint: Option.none<Checkpoint>() }
  return { exists: true, checkpoint: Option.some(checkpoint) }
})

export interface ResumableFile {
  readonly path: string
  /** Bytes behind the checkpoint that were cut off. */
  readonly repairedBytes: number
  /** Appends the lines, then saves the checkpoint; done when both are on disk. */
  readonly append: (
    lines: ReadonlyArray<string>,
    state: Pick<Checkpoint, "cursor" | "tally">
  ) => Effect.Effect<void, CommandFailed>
  /** Says in the checkpoint that the end is reached. */
  readonly finish: Effect.Effect<void, CommandFailed>
}

/**
 * Opens a file for one run: a new one, or one to go on with from its checkpoint. Whoever opens it holds it
 * (`Destination.find`).
 */
export const open = Effect.fn("ResumableFile.open")(function* (
  path: string,
  madeBy: Checkpoint["madeBy"],
  checkpoint: Option.Option<Checkpoint>
) {
  const fs = yield* FileSystem.FileSystem
  const beside = checkpointPath(path)
  const file = yield* fs
    .open(path, { flag: Option.isSome(checkpoint) ? "r+" : "w" })
    .pipe(Effect.mapError(cannot("open", path)))
  let bytes = Option.match(checkpoint, { onNone: () => 0, onSome: ({ bytes }) => bytes })
  const { size } = yield* file.stat.pipe(Effect.mapError(cannot("look at", path)))
  if (Number(size) < bytes) {
    return yield* new UsageError({
      message: `${path} has ${size} bytes, but ${beside} says ${bytes}: it was shortened. Remove both, or use another path`
    })
  }
  const repairedBytes = Number(size) - bytes
  if (repairedBytes > 0) yield* file.truncate(bytes).pipe(Effect.mapError(cannot("shorten", path)))
  yield* file.seek(BigInt(bytes), "start").pipe(Effect.mapError(cannot("write", path)))

  // Else the next run would leave it alone, as the work of somebody else.
  yield* Effect.addFinalizer(() =>
    bytes > 0
      ? Effect.void
      : Effect.forEach([path, beside], (one) => Effect.ignore(fs.remove(one, { force: true })), { discard: true })
  )

  const encoder = new TextEncoder()
  let last: Pick<Checkpoint, "cursor" | "tally"> | undefined = Option.getOrUndefined(checkpoint)
  const save = Effect.fnUntraced(
    function* (state: Pick<Checkpoint, "cursor" | "tally" | "isFinished">) {
      const text = yield* Effect.orDie(encode({ version: 1, madeBy, bytes, ...state }))
      yield* fs.writeFileString(`${beside}.new`, text)
      yield* fs.rename(`${beside}.new`, beside)
    },
    Effect.mapError(cannot("write", beside))
  )
  // Else lines that a killed run had written before its first checkpoint would be taken for somebody else's.
  if (Option.isNone(checkpoint)) yield* save({ cursor: Cursor.start, tally: Tally.empty })
  const append: ResumableFile["append"] = Effect.fnUntraced(function* (lines, state) {
    if (lines.length > 0) {
      const content = encoder.encode(lines.map((line) => `${line}\n`).join(""))
      yield* file.writeAll(content).pipe(Effect.andThen(file.sync), Effect.mapError(cannot("write", path)))
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
