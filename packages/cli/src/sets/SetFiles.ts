/**
 * The files of a data set: whole or absent, and resumable until they are whole.
 *
 * Rows go to `OUT.partial` (JSON Lines, whatever the final format), with `OUT.checkpoint.json` beside it, which tells
 * how far both the partial files and the reading of the source have come. What lies behind the checkpoint is cut off
 * when the work goes on. At the end the partial files take their final names in one step each; a crash between two of
 * them is made good by the next run. Rows are added to a file by making a new one of both. One process at a time writes
 * a data set.
 */
import * as Reason from "@atropos/core/base/Reason"
import { Clock, Effect, Equal, FileSystem, Option, Path, Schema, Stream } from "effect"
import type { PlatformError } from "effect/PlatformError"
import { CommandFailed, UsageError } from "../base/Failure.ts"
import * as OutputLock from "../job/OutputLock.ts"
import type { MadeRow, Split } from "./Builder.ts"
import * as Counts from "./Counts.ts"
import type { Row } from "./Layout.ts"
import * as ParquetFile from "./ParquetFile.ts"
import * as RowFile from "./RowFile.ts"

/** How far the work has come. */
export const State = Schema.Struct({
  /** Where to go on reading; the source's own business. */
  cursor: Schema.Unknown,
  counts: Counts.Counts
})
export type State = typeof State.Type

const Part = Schema.Struct({
  bytes: Schema.Natural,
  rows: Schema.Natural,
  /** Size of the file that is added to; null where there is none. */
  base: Schema.NullOr(Schema.Natural),
  /** Size of the whole file, once it is about to take its name. */
  whole: Schema.NullOr(Schema.Natural)
})

const Checkpoint = Schema.Struct({
  version: Schema.Literal(1),
  /** The options that rows depend on. */
  identity: Schema.Record(Schema.String, Schema.Unknown),
  isFinishing: Schema.Boolean,
  parts: Schema.Record(Schema.String, Part),
  state: State
})
type Checkpoint = typeof Checkpoint.Type

const decodeCheckpoint = Schema.decodeUnknownEffect(Schema.fromJsonString(Checkpoint))

export interface Options {
  /** As given. */
  readonly out: string
  readonly container: RowFile.Container
  readonly splits: ReadonlyArray<Split>
  readonly identity: { readonly [name: string]: unknown }
  readonly appends: boolean
  /** false: what an earlier run left unfinished is thrown away. */
  readonly resumes: boolean
  /** Columns that rows of this format have. */
  readonly columns: ReadonlyArray<string>
  /** Sees every row that is there already, where somebody wants to. */
  readonly onRow?: (row: Row) => void
  /** Milliseconds between checkpoints. */
  readonly checkpointEvery: number
}

export interface WrittenFile {
  readonly split: Split
  readonly path: string
  readonly rows: number
  readonly bytes: number
}

export interface SetFiles {
  /** Where an earlier run ended. */
  readonly before: Option.Option<State>
  readonly append: (rows: ReadonlyArray<MadeRow>, state: State) => Effect.Effect<void, CommandFailed>
  /** Brings the checkpoint up to date. */
  readonly flush: Effect.Effect<void, CommandFailed>
  /** Makes the files whole; a split without rows has none. */
  readonly finish: (state: State) => Effect.Effect<ReadonlyArray<WrittenFile>, CommandFailed>
}

/** Where a split goes: to the path given, or beside it where there are two. */
export const pathOf = (path: Path.Path, out: string, splits: ReadonlyArray<Split>, split: Split): string => {
  const { dir, ext, name } = path.parse(out)
  return splits.length === 1 ? out : path.join(dir, `${name}-${split}${ext}`)
}

const partialOf = (file: string): string => `${file}.partial`
export const checkpointOf = (out: string): string => `${out}.checkpoint.json`

const cannot = (what: string, file: string) => (cause: PlatformError) =>
  new CommandFailed({ message: `cannot ${what} ${file}: ${Reason.ofFile(cause)}`, cause })

const encoder = new TextEncoder()

const differences = (before: Options["identity"], now: Options["identity"]): string =>
  Object.keys({ ...before, ...now })
    .filter((name) => !Equal.equals(before[name], now[name]))
    .map((name) => `${name} was ${JSON.stringify(before[name])}, is ${JSON.stringify(now[name])}`)
    .join("; ")

interface OpenPart {
  readonly split: Split
  readonly final: string
  readonly partial: string
  readonly file: FileSystem.File
  readonly base: number | null
  bytes: number
  rows: number
  whole: number | null
}

/** Opens the files of a data set: new ones, or those that an earlier run left. */
export const open = Effect.fn("SetFiles.open")(function* (options: Options) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const { appends, checkpointEvery, container, out, splits } = options
  const beside = checkpointOf(out)
  // What JSON leaves of it, so that it can be compared.
  const identity = JSON.parse(JSON.stringify(options.identity)) as Options["identity"]

  yield* OutputLock.hold(out)
  const exists = (file: string) => fs.exists(file).pipe(Effect.mapError(cannot("look at", file)))
  if (!options.resumes) yield* fs.remove(beside, { force: true }).pipe(Effect.mapError(cannot("remove", beside)))

  const found = (yield* exists(beside))
    ? Option.some(
        yield* fs.readFileString(beside).pipe(
          Effect.mapError(cannot("read", beside)),
          Effect.flatMap((text) =>
            Effect.mapError(
              decodeCheckpoint(text),
              () =>
                new UsageError({
                  message: `${beside} is not a checkpoint of this version; use --no-resume to start over`
                })
            )
          )
        )
      )
    : Option.none<Checkpoint>()
  // A run that ended before it had read anything is no run to go on with.
  const saved = Option.filter(found, ({ isFinishing, state }) => isFinishing || state.counts.groups > 0)
  if (Option.isSome(saved)) {
    const changed = differences(saved.value.identity, identity)
    if (changed !== "") {
      return yield* new UsageError({
        message: `${out} is unfinished and was started with other options (${changed}): use those, another path, or --no-resume to start over`
      })
    }
  }

  const sizeOf = Effect.fnUntraced(function* (file: string) {
    if (!(yield* exists(file))) return null
    return Number((yield* fs.stat(file).pipe(Effect.mapError(cannot("look at", file)))).size)
  })

  /** A part that an earlier run began: up to its checkpoint. */
  const reopen = Effect.fnUntraced(function* (split: Split, final: string, known: typeof Part.Type) {
    const partial = partialOf(final)
    const file = yield* fs.open(partial, { flag: "r+" }).pipe(Effect.mapError(cannot("open", partial)))
    const { size } = yield* file.stat.pipe(Effect.mapError(cannot("look at", partial)))
    if (Number(size) < known.bytes) {
      return yield* new UsageError({
        message: `${partial} has ${size} bytes, but ${beside} says ${known.bytes}: it was shortened. Use --no-resume to start over`
      })
    }
    yield* file.truncate(known.bytes).pipe(Effect.mapError(cannot("mend", partial)))
    yield* file.seek(BigInt(known.bytes), "start").pipe(Effect.mapError(cannot("write", partial)))
    const { onRow } = options
    if (onRow !== undefined) {
      yield* Stream.runForEach(RowFile.read(partial, "jsonl", options.columns), ({ row }) =>
        Effect.sync(() => onRow(row))
      )
    }
    return { split, final, partial, file, ...known } satisfies OpenPart
  })

  /** A new part, with the rows of the file that it adds to. */
  const create = Effect.fnUntraced(function* (split: Split, final: string) {
    const partial = partialOf(final)
    const base = yield* sizeOf(final)
    const file = yield* fs.open(partial, { flag: "w" }).pipe(Effect.mapError(cannot("open", partial)))
    const part: OpenPart = { split, final, partial, file, base, bytes: 0, rows: 0, whole: null }
    if (base === null || base === 0) return part
    yield* Stream.runForEachArray(RowFile.read(final, container, options.columns), (some) => {
      const content = encoder.encode(some.map(({ text }) => `${text}\n`).join(""))
      part.bytes += content.length
      part.rows += some.length
      for (const { row } of some) options.onRow?.(row)
      return file.writeAll(content).pipe(Effect.mapError(cannot("write", partial)))
    })
    return part
  })

  if (Option.isNone(saved) && !appends) {
    for (const split of splits) {
      const final = pathOf(path, out, splits, split)
      if (!(yield* exists(final))) continue
      return yield* new UsageError({
        message: `${final} exists: use --append-to-previous to add to it, or another path. Nothing was read or written`
      })
    }
  }

  // Between the renames of an unfinished end a part may have its final name already.
  const isFinishing = Option.exists(saved, ({ isFinishing }) => isFinishing)
  const parts: Array<OpenPart> = []
  const alreadyWritten: Array<WrittenFile> = []
  for (const split of splits) {
    const final = pathOf(path, out, splits, split)
    const known = Option.getOrUndefined(saved)?.parts[split]
    if (isFinishing && known !== undefined && !(yield* exists(partialOf(final)))) {
      if (known.rows > 0) alreadyWritten.push({ split, path: final, rows: known.rows, bytes: known.whole ?? 0 })
      continue
    }
    parts.push(yield* known === undefined ? create(split, final) : reopen(split, final, known))
  }

  let state: State = Option.match(saved, {
    onNone: () => ({ cursor: null, counts: Counts.empty }),
    onSome: (checkpoint) => checkpoint.state
  })
  let savedAt = yield* Clock.currentTimeMillis
  let hasNews = true

  const save = Effect.fnUntraced(
    function* (finishing: boolean) {
      const checkpoint: Checkpoint = {
        version: 1,
        identity,
        isFinishing: finishing,
        parts: Object.fromEntries(
          parts.map(({ base, bytes, rows, split, whole }) => [split, { bytes, rows, base, whole }])
        ),
        state
      }
      yield* fs.writeFileString(`${beside}.new`, JSON.stringify(checkpoint))
      yield* fs.rename(`${beside}.new`, beside)
      hasNews = false
      savedAt = yield* Clock.currentTimeMillis
    },
    Effect.mapError(cannot("write", beside)),
    Effect.uninterruptible
  )
  yield* save(isFinishing)
  yield* Effect.addFinalizer(() => {
    const leftovers = [beside, ...parts.map(({ partial }) => partial)]
    const isUntouched = Option.isNone(saved) && state.counts.groups === 0
    return isUntouched
      ? Effect.forEach(leftovers, (file) => Effect.ignore(fs.remove(file, { force: true })), { discard: true })
      : Effect.void
  })

  const append: SetFiles["append"] = Effect.fnUntraced(function* (rows, next) {
    for (const part of parts) {
      const own = rows.filter(({ split }) => split === part.split)
      if (own.length === 0) continue
      const content = encoder.encode(own.map(({ row }) => `${RowFile.lineOf(row)}\n`).join(""))
      yield* part.file.writeAll(content).pipe(Effect.mapError(cannot("write", part.partial)))
      part.bytes += content.length
      part.rows += own.length
    }
    state = next
    hasNews = true
    if ((yield* Clock.currentTimeMillis) - savedAt >= checkpointEvery) yield* save(false)
  }, Effect.uninterruptible)

  const finishPart = Effect.fnUntraced(function* (part: OpenPart) {
    const { base, file, final, partial, rows, split } = part
    const remove = fs.remove(partial, { force: true }).pipe(Effect.mapError(cannot("remove", partial)))
    yield* file.sync.pipe(Effect.mapError(cannot("write", partial)))
    if (rows === 0) {
      yield* remove
      return []
    }
    const size = yield* sizeOf(final)
    const isThere = part.whole !== null && size === part.whole
    if (!isThere) {
      if (size !== base) {
        return yield* new CommandFailed({
          message: `${final} was ${base === null ? "created" : "changed"} by another program meanwhile: the rows are in ${partial}, and nothing was overwritten`
        })
      }
      let whole = partial
      if (container === "parquet") {
        whole = `${final}.new`
        yield* ParquetFile.write({ from: partial, to: whole, columns: options.columns })
      }
      part.whole = yield* sizeOf(whole)
      // So that a crash behind the next line is told from somebody else's file.
      yield* save(true)
      yield* fs.rename(whole, final).pipe(Effect.mapError(cannot("write", final)))
    }
    yield* remove
    return [{ split, path: final, rows, bytes: part.whole ?? 0 } satisfies WrittenFile]
  })

  return {
    before: Option.map(saved, (checkpoint) => checkpoint.state),
    append,
    flush: Effect.suspend(() => (hasNews ? save(false) : Effect.void)),
    finish: Effect.fnUntraced(function* (last) {
      state = last
      yield* save(true)
      const written = [...alreadyWritten, ...(yield* Effect.forEach(parts, finishPart)).flat()]
      yield* fs.remove(beside, { force: true }).pipe(Effect.mapError(cannot("remove", beside)))
      return written
    })
  } satisfies SetFiles
})
