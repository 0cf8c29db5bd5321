/**
 * The identity of a Weights & Biases run, `<folder>/wandb/<source>-<id>/run.json`. Its rows are the lines of the
 * metrics file (`FileSink`) from a position on, up to where the source's next run begins.
 *
 * One process at a time has a run (`FolderLock`).
 */
import { Clock, DateTime, Effect, FileSystem, Option, Path, type PlatformError, Result, Schema } from "effect"
import { randomInt } from "node:crypto"
import { hostname } from "node:os"
import * as FolderLock from "../../base/system/FolderLock.ts"
import type { Source } from "../Sink.ts"

export const WandbRun = Schema.Struct({
  version: Schema.Literal(2),
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
  config: Schema.Record(Schema.String, Schema.Unknown),
  /** Bytes of the metrics file before its rows. */
  from: Schema.Natural,
  /** Null while it runs, or if its process died. */
  exit: Schema.NullOr(Schema.Int),
  /** Set once the server has everything. */
  uploaded: Schema.NullOr(Schema.Struct({ url: Schema.String, rows: Schema.Natural }))
})
export type WandbRun = typeof WandbRun.Type

/** A run and its folder. */
export interface Stored {
  readonly folder: string
  readonly run: WandbRun
}

/** The folder is invalid or in use. */
export class WandbRunError extends Schema.TaggedError<WandbRunError>()("WandbRunError", {
  message: Schema.String,
  /** Another process has it. */
  isHeld: Schema.Boolean,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

export const defaultProject = "atropos"

/** Not from `Random`: a program with a seed still makes a new run each time. */
const letters = (alphabet: string, length: number): Effect.Effect<string> =>
  Effect.sync(() => Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join(""))

const lowercase = "abcdefghijklmnopqrstuvwxyz"

const unlessEmpty = (text: string | null): string | null => (text === "" ? null : text)

/** Names runs like the original: `<name>-<day>-<six letters>`. */
export const nameOf = Effect.fnUntraced(function* (key: string) {
  const day = DateTime.formatIsoDateUtc(yield* DateTime.now)
  return `${key}-${day}-${yield* letters(lowercase, 6)}`
})

/** Project, group and name of a run; null: announced by the trainer, or generated. */
export interface Placing {
  readonly project: string | null
  readonly group: string | null
  readonly name: string | null
  readonly entity: string | null
  readonly runId: string | null
}

/** A new run of a source. */
export const begin = Effect.fnUntraced(function* (source: Source, options: Placing, from: number) {
  const announced = yield* source.announced
  const run: WandbRun = {
    version: 2,
    id: options.runId ?? (yield* letters(`${lowercase}0123456789`, 8)),
    kind: source.kind,
    key: source.key,
    prefix: source.prefix,
    project: options.project ?? unlessEmpty(announced.project) ?? defaultProject,
    entity: options.entity,
    group: options.group ?? unlessEmpty(announced.group),
    name: options.name ?? (yield* nameOf(source.key)),
    host: hostname(),
    startedAt: yield* Clock.currentTimeMillis,
    config: source.config,
    from,
    exit: null,
    uploaded: null
  }
  return run
})

const file = Schema.fromJsonString(WandbRun)
const decode = Schema.decodeUnknownEffect(file)
const encode = Schema.encodeEffect(file)

const name = "run.json"
const searchDepth = 4

/** Saves a run, in a folder that is created if it is missing. */
export const save = Effect.fnUntraced(function* ({ folder, run }: Stored) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  yield* fs.makeDirectory(folder, { recursive: true })
  const file = path.join(folder, name)
  yield* fs.writeFileString(`${file}.new`, `${yield* Effect.orDie(encode(run))}\n`)
  yield* fs.rename(`${file}.new`, file)
})

/** Keeps other processes from the run until the scope closes. */
export const hold = (folder: string) =>
  Effect.mapError(
    FolderLock.hold(folder),
    (cause) => new WandbRunError({ message: cause.message, isHeld: cause.isHeld, cause })
  )

const read = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const file = path.join(folder, name)
  if (!(yield* Effect.orElseSucceed(fs.exists(file), () => false))) return Option.none<WandbRun>()
  return yield* fs.readFileString(file).pipe(
    Effect.flatMap(decode),
    Effect.mapError(
      (cause) =>
        new WandbRunError({
          message: `${file} is not a file of a Weights & Biases run: ${cause.message}`,
          isHeld: false,
          cause
        })
    ),
    Effect.asSome
  )
})

/** Runs in a folder, possibly including itself; newest last. Unreadable ones are reported and skipped. */
export const find = Effect.fn("WandbRun.find")(function* (
  folder: string,
  onStrange: (error: WandbRunError) => Effect.Effect<void>
) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const runs: Array<Stored> = []
  const visit = (
    at: string,
    depth: number
  ): Effect.Effect<void, PlatformError.PlatformError, FileSystem.FileSystem | Path.Path> =>
    Effect.gen(function* () {
      const found = yield* Effect.result(read(at))
      if (Result.isFailure(found)) return yield* onStrange(found.failure)
      if (Option.isSome(found.success)) {
        runs.push({ folder: at, run: found.success.value })
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
  return runs.toSorted((a, b) => a.run.startedAt - b.run.startedAt)
})
