/**
 * Writes the files of a data set: complete or absent, and resumable until they are complete.
 *
 * Rows go to `OUT.partial` (JSON Lines), with the progress in `OUT.checkpoint.json`; on resume, anything after the
 * checkpoint is truncated. At the end each partial file is renamed atomically; the next run completes the renames after
 * a crash in between. One process at a time writes a data set.
 */
import { Array, Clock, Effect, FileSystem, Option, Path } from "effect"
import { type CommandFailed, UsageError } from "../base/Failure.ts"
import { cannot } from "../base/FileFailure.ts"
import * as OutputLock from "../job/OutputLock.ts"
import type { MadeRow, Split } from "./Builder.ts"
import * as Counts from "./Counts.ts"
import * as SetCheckpoint from "./SetCheckpoint.ts"
import * as SetPart from "./SetPart.ts"

export interface Options extends SetPart.Format {
  readonly splits: ReadonlyArray<Split>
  readonly identity: SetCheckpoint.Identity
  readonly appends: boolean
  /** false: discards the unfinished work of an earlier run. */
  readonly resumes: boolean
  readonly checkpointEvery: number
}

export interface SetFiles {
  /** State at the end of an earlier run. */
  readonly before: Option.Option<SetCheckpoint.State>
  /** True if the source was already read: no rows may be appended, and files may already be renamed. */
  readonly isFinishing: boolean
  readonly append: (rows: ReadonlyArray<MadeRow>, state: SetCheckpoint.State) => Effect.Effect<void, CommandFailed>
  readonly flush: Effect.Effect<void, CommandFailed>
  /** Completes the files; a split without rows has none. */
  readonly finish: (state: SetCheckpoint.State) => Effect.Effect<ReadonlyArray<SetPart.WrittenFile>, CommandFailed>
}

/** Path of a split: the given path, or next to it if there are two splits. */
const pathOf = (path: Path.Path, out: string, splits: ReadonlyArray<Split>, split: Split): string => {
  const { dir, ext, name } = path.parse(out)
  return splits.length === 1 ? out : path.join(dir, `${name}-${split}${ext}`)
}

const exists = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  return yield* fs.exists(file).pipe(Effect.mapError(cannot("access", file)))
})

/** Opens the part of every split; those an interrupted finish already renamed count as written. */
const openParts = Effect.fnUntraced(function* (options: Options, saved: Option.Option<SetCheckpoint.SetCheckpoint>) {
  const path = yield* Path.Path
  const { appends, out, splits } = options
  const named = splits.map((split) => ({ split, final: pathOf(path, out, splits, split) }))
  if (Option.isNone(saved) && !appends) {
    for (const { final } of named) {
      if (!(yield* exists(final))) continue
      return yield* new UsageError({
        message: `${final} exists: use --append-to-previous to add to it, or another path. Nothing was read or written`
      })
    }
  }
  const isFinishing = Option.exists(saved, (checkpoint) => checkpoint.isFinishing)
  const parts: Array<SetPart.SetPart> = []
  const written: Array<SetPart.WrittenFile> = []
  for (const { final, split } of named) {
    const part = Option.getOrUndefined(saved)?.parts[split]
    if (isFinishing && part !== undefined && !(yield* exists(SetPart.partialOf(final)))) {
      if (part.rows > 0) written.push({ split, path: final, rows: part.rows, bytes: part.whole ?? 0 })
      continue
    }
    parts.push(
      yield* part === undefined ? SetPart.create(options, split, final) : SetPart.reopen(options, split, final, part)
    )
  }
  return { parts, written }
})

/** Opens the files of a data set: new ones, or those of an earlier run. */
export const open = Effect.fn("SetFiles.open")(function* (options: Options) {
  const fs = yield* FileSystem.FileSystem
  const services = yield* Effect.context<FileSystem.FileSystem>()
  const { checkpointEvery, out } = options
  // A JSON round trip, so that it compares equal to a checkpoint's.
  const identity = JSON.parse(JSON.stringify(options.identity)) as SetCheckpoint.Identity

  yield* OutputLock.hold(out)
  if (!options.resumes) yield* SetCheckpoint.remove(out)
  const saved = yield* SetCheckpoint.read(out, identity)
  const { parts, written } = yield* openParts(options, saved)

  let state: SetCheckpoint.State = Option.match(saved, {
    onNone: () => ({ cursor: null, counts: Counts.empty }),
    onSome: (checkpoint) => checkpoint.state
  })
  let savedAt = yield* Clock.currentTimeMillis
  let hasNews = true

  const save = Effect.fnUntraced(function* (isFinishing: boolean) {
    yield* SetCheckpoint.write(out, {
      version: 1,
      identity,
      isFinishing,
      parts: Object.fromEntries(
        parts.map(({ base, bytes, rows, split, whole }) => [split, { bytes, rows, base, whole }])
      ),
      state
    })
    hasNews = false
    savedAt = yield* Clock.currentTimeMillis
  }, Effect.uninterruptible)
  const isFinishing = Option.exists(saved, (checkpoint) => checkpoint.isFinishing)
  yield* save(isFinishing)
  yield* Effect.addFinalizer(() => {
    const leftovers = [SetCheckpoint.fileOf(out), ...parts.map(({ partial }) => partial)]
    const isUntouched = Option.isNone(saved) && state.counts.groups === 0
    return isUntouched
      ? Effect.forEach(leftovers, (file) => Effect.ignore(fs.remove(file, { force: true })), { discard: true })
      : Effect.void
  })

  return {
    before: Option.map(saved, (checkpoint) => checkpoint.state),
    isFinishing,
    append: Effect.fnUntraced(
      function* (rows, next) {
        for (const part of parts) yield* SetPart.append(part, rows)
        state = next
        hasNews = true
        if ((yield* Clock.currentTimeMillis) - savedAt >= checkpointEvery) yield* save(false)
      },
      Effect.uninterruptible,
      Effect.provideContext(services)
    ),
    flush: Effect.suspend(() => (hasNews ? save(false) : Effect.void)).pipe(Effect.provideContext(services)),
    finish: Effect.fnUntraced(function* (last) {
      state = last
      yield* save(true)
      const finished = yield* Effect.forEach(parts, (part) => SetPart.finish(options, part, save(true)))
      yield* SetCheckpoint.remove(out)
      return [...written, ...Array.getSomes(finished)]
    }, Effect.provideContext(services))
  } satisfies SetFiles
})
