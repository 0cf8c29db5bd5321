/**
 * Stores the checkpoint of an unfinished data set next to it: progress of the partial files and of reading the source,
 * and the options used.
 */
import { Effect, Equal, FileSystem, Option, Schema } from "effect"
import { cannot } from "../base/FileFailure.ts"
import { UsageError } from "../base/Failure.ts"
import * as Counts from "./Counts.ts"

export const State = Schema.Struct({
  /** Position in the source, in its own format. */
  cursor: Schema.Unknown,
  counts: Counts.Counts
})
export type State = typeof State.Type

export const Part = Schema.Struct({
  bytes: Schema.Natural,
  rows: Schema.Natural,
  /** Size of the file being appended to; null if none. */
  base: Schema.NullOr(Schema.Natural),
  /** Size of the complete file, set just before it is renamed. */
  whole: Schema.NullOr(Schema.Natural)
})
export type Part = typeof Part.Type

export const SetCheckpoint = Schema.Struct({
  version: Schema.Literal(1),
  /** The options that affect rows. */
  identity: Schema.Record(Schema.String, Schema.Unknown),
  isFinishing: Schema.Boolean,
  parts: Schema.Record(Schema.String, Part),
  state: State
})
export type SetCheckpoint = typeof SetCheckpoint.Type

export type Identity = { readonly [name: string]: unknown }

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(SetCheckpoint))

export const fileOf = (out: string): string => `${out}.checkpoint.json`

const differences = (before: Identity, now: Identity): string =>
  Object.keys({ ...before, ...now })
    .filter((name) => !Equal.equals(before[name], now[name]))
    .map((name) => `${name} was ${JSON.stringify(before[name])}, is ${JSON.stringify(now[name])}`)
    .join("; ")

/** The checkpoint to resume from, if any. Fails if it was made with different options. */
export const read = Effect.fn("SetCheckpoint.read")(function* (out: string, identity: Identity) {
  const fs = yield* FileSystem.FileSystem
  const file = fileOf(out)
  if (!(yield* fs.exists(file).pipe(Effect.mapError(cannot("access", file))))) return Option.none<SetCheckpoint>()
  const text = yield* fs.readFileString(file).pipe(Effect.mapError(cannot("read", file)))
  const checkpoint = yield* Effect.mapError(
    decode(text),
    () => new UsageError({ message: `${file} is not a checkpoint of this version; use --no-resume to start over` })
  )
  // A run that ended before it read anything is not resumed.
  if (!checkpoint.isFinishing && checkpoint.state.counts.groups === 0) return Option.none<SetCheckpoint>()
  const changed = differences(checkpoint.identity, identity)
  if (changed !== "") {
    return yield* new UsageError({
      message: `${out} is unfinished and was started with other options (${changed}): use those, another path, or --no-resume to start over`
    })
  }
  return Option.some(checkpoint)
})

/** Replaces the checkpoint atomically. */
export const write = Effect.fn("SetCheckpoint.write")(function* (out: string, checkpoint: SetCheckpoint) {
  const fs = yield* FileSystem.FileSystem
  const file = fileOf(out)
  yield* Effect.gen(function* () {
    yield* fs.writeFileString(`${file}.new`, JSON.stringify(checkpoint))
    yield* fs.rename(`${file}.new`, file)
  }).pipe(Effect.mapError(cannot("write", file)), Effect.uninterruptible)
})

export const remove = Effect.fn("SetCheckpoint.remove")(function* (out: string) {
  const fs = yield* FileSystem.FileSystem
  const file = fileOf(out)
  yield* fs.remove(file, { force: true }).pipe(Effect.mapError(cannot("remove", file)))
})
