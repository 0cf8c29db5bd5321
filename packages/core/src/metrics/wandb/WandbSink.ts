/**
 * Writes to Weights & Biases: one run per source, in the project and group announced by the trainer, with the
 * original's names: an environment's metrics are prefixed by its registered name, except those of the inference servers
 * (`server/…`).
 *
 * Closed rows are sent every 15 seconds. What the server did not get is in the metrics file (`FileSink`), from where
 * `atropos wandb-sync` sends it, as everything of an offline run; a source that continues earlier work sends it first,
 * and continues its run. The identity of a run is in `<folder>/wandb/<source>-<id>` (`WandbRun`).
 */
import {
  Clock,
  Context,
  Duration,
  Effect,
  FileSystem,
  Option,
  Path,
  type PlatformError,
  type Redacted,
  Semaphore
} from "effect"
import * as Reason from "../../base/Reason.ts"
import * as Feed from "../Feed.ts"
import * as FileSink from "../FileSink.ts"
import { type Entry, type Sink, SinkError, type Source, type Writer } from "../Sink.ts"
import * as Replay from "./Replay.ts"
import * as Rows from "./Rows.ts"
import * as Upload from "./Upload.ts"
import * as WandbApi from "./WandbApi.ts"
import * as WandbRun from "./WandbRun.ts"

export interface Options extends WandbRun.Placing {
  /** That of the metrics file; the identities of runs are in `<folder>/wandb`. */
  readonly folder: string
  /** The destination; undefined: offline. */
  readonly server: { readonly baseUrl: string; readonly apiKey: Redacted.Redacted } | undefined
  /** Time between uploads. Default 15 seconds. */
  readonly every?: Duration.Input
  /** Reports a run's URL or folder to the user. Default: the log. */
  readonly report?: (message: string) => Effect.Effect<void>
}

export { defaultProject, nameOf } from "./WandbRun.ts"

/** The run of this source to continue, unless another process has it. */
const earlier = Effect.fnUntraced(function* (parent: string, source: Source, { runId }: Options) {
  const runs = yield* WandbRun.find(parent, ({ message }) =>
    Effect.logWarning("skipped unreadable run folder", { message })
  )
  const newest = runs.findLast(
    ({ run }) =>
      run.kind === source.kind && run.key === source.key && (runId === null ? source.isResumed : run.id === runId)
  )
  if (newest === undefined) return Option.none<WandbRun.Stored>()
  return yield* WandbRun.hold(newest.folder).pipe(
    Effect.as(Option.some(newest)),
    Effect.catchIf(
      ({ isHeld }) => isHeld && runId === null,
      () => Effect.succeedNone
    )
  )
})

/** A run without heartbeats counts as crashed after several minutes. */
const heartbeatMillis = 30_000
/** More waiting rows are sent before the next is taken. */
const maxWaiting = 1000

const rest = "`npx @atropos/cli wandb-sync` uploads the recorded rest"

const failing = (error: WandbApi.WandbError | WandbRun.WandbRunError | PlatformError.PlatformError): SinkError =>
  error._tag === "WandbError"
    ? new SinkError({
        reason: error.reason === "passing" ? "passing" : "final",
        message: error.reason === "passing" ? error.message : `${error.message}; ${rest}`,
        ...(error.retryAfterMillis !== undefined && { retryAfterMillis: error.retryAfterMillis }),
        cause: error
      })
    : new SinkError({
        reason: "passing",
        message: `the run's folder: ${error._tag === "PlatformError" ? Reason.ofFile(error) : error.message}`,
        cause: error
      })

/** Runs with their identities in this folder; online if there is a server. */
export const make = Effect.fnUntraced(function* (options: Options) {
  // Not the whole context: its scope is not that of what is opened.
  const context = yield* Effect.map(
    Effect.context<FileSystem.FileSystem | Path.Path>(),
    Context.pick(FileSystem.FileSystem, Path.Path)
  )
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const parent = path.join(options.folder, "wandb")
  const { every = "15 seconds", report = Effect.logInfo } = options
  const { server } = options
  const api = server && (yield* WandbApi.make(server))
  const fileOf = (source: Source) => path.join(options.folder, FileSink.nameOf(source))
  const sizeOf = (file: string) =>
    fs.stat(file).pipe(
      Effect.map(({ size }) => Number(size)),
      Effect.orElseSucceed(() => 0)
    )
  /** Sizes of the metrics files before this process writes to them. */
  const sizes = new Map<string, number>()
  for (const name of yield* Effect.orElseSucceed(fs.readDirectory(options.folder), () => [])) {
    if (name.endsWith("metrics.jsonl"))
      sizes.set(path.join(options.folder, name), yield* sizeOf(path.join(options.folder, name)))
  }

  const open = Effect.fnUntraced(function* (source: Source, from: number) {
    const found = yield* earlier(parent, source, options)
    if (Option.isSome(found)) return { ...found.value, run: { ...found.value.run, exit: null, uploaded: null } }
    const run = yield* WandbRun.begin(source, options, from)
    const folder = path.join(parent, `${FileSink.fileName(source.key)}-${run.id}`)
    yield* fs.makeDirectory(folder, { recursive: true })
    yield* WandbRun.hold(folder)
    return { folder, run }
  })

  const sink: Sink = {
    name: "wandb",
    takesTables: api !== undefined,
    batch: 1000,
    open: Effect.fnUntraced(function* (source) {
      const file = fileOf(source)
      const from = sizes.get(file) ?? 0
      const stored = yield* Effect.mapError(Effect.tap(open(source, from), WandbRun.save), failing)
      let isUploaded = false
      const save = (exit: number, uploaded: WandbRun.WandbRun["uploaded"]) =>
        WandbRun.save({ ...stored, run: { ...stored.run, exit, uploaded } }).pipe(
          Effect.andThen(sizeOf(file)),
          Effect.map((size) => void sizes.set(file, size)),
          Effect.mapError(failing),
          Effect.provideContext(context)
        )
      yield* Effect.addFinalizer((exit) =>
        isUploaded
          ? Effect.void
          : save(Feed.exitCodeOf(exit), null).pipe(
              Effect.catch(({ message }) => Effect.logWarning("end of a Weights & Biases run not saved", { message })),
              Effect.andThen(
                report(
                  `Weights & Biases: ${source.name} is recorded in ${file}; npx @atropos/cli wandb-sync uploads it`
                )
              )
            )
      )
      if (server === undefined || api === undefined)
        return { write: () => Effect.void, finish: () => Effect.void } satisfies Writer
      const urlOf = (place: WandbApi.RunRef) => Upload.urlOf(server.baseUrl, place)
      const writer = yield* online(Upload.make(stored.run, api), {
        stored,
        file,
        from,
        every,
        report: (place) => report(`Weights & Biases: ${stored.run.name ?? place.run} at ${urlOf(place)}`)
      })
      return {
        write: (entries: ReadonlyArray<Entry>) => Effect.provideContext(writer.write(entries), context),
        finish: (exit: number) =>
          writer.finish(exit).pipe(
            Effect.flatMap(({ place, rows }) => save(exit, { url: urlOf(place), rows })),
            Effect.andThen(Effect.sync(() => void (isUploaded = true))),
            Effect.provideContext(context)
          )
      }
    }, Effect.provideContext(context))
  }
  return sink
})

interface Online {
  readonly stored: WandbRun.Stored
  readonly file: string
  /** Bytes of the metrics file before this process wrote to it. */
  readonly from: number
  readonly every: Duration.Input
  readonly report: (place: WandbApi.RunRef) => Effect.Effect<void>
}

/** Sends in the background and, when many rows wait, in `write`. */
const online = Effect.fnUntraced(function* (upload: Upload.Upload, { every, file, from, stored, report }: Online) {
  const lock = yield* Semaphore.make(1)
  let rows: Rows.Rows | undefined
  let sentAt = yield* Clock.currentTimeMillis
  const everyMillis = Duration.toMillis(Duration.fromInputUnsafe(every))

  const begin = Effect.gen(function* () {
    if (rows !== undefined) return rows
    const { place } = yield* upload.connect
    const before = yield* Replay.into(upload, stored.run, file, from)
    yield* report(place)
    return (rows = Rows.make(stored.run, before))
  })
  const send = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (upload.waiting() > 0) yield* upload.send
    else if (now - sentAt < heartbeatMillis) return
    else yield* upload.heartbeat
    sentAt = now
  })
  const push = (row: Rows.Row | undefined): void => {
    if (row !== undefined) upload.push(row)
  }
  // A failure is met again by the next `write`, which reports it and waits.
  yield* Effect.sleep(every).pipe(
    Effect.andThen(Effect.suspend(() => (rows === undefined ? Effect.void : lock.withPermits(1)(Effect.ignore(send))))),
    Effect.forever,
    Effect.forkScoped
  )
  return {
    write: (entries: ReadonlyArray<Entry>) =>
      Effect.gen(function* () {
        const into = yield* begin
        const now = yield* Clock.currentTimeMillis
        // Before the entries are taken, so that a second attempt takes none twice.
        if (upload.waiting() > maxWaiting || now - sentAt >= everyMillis) yield* send
        for (const entry of entries) push(into.add(entry))
      }).pipe(lock.withPermits(1), Effect.mapError(failing)),
    finish: (exit: number) =>
      Effect.gen(function* () {
        push((yield* begin).end())
        yield* upload.send
        yield* upload.complete(exit)
        return { place: (yield* upload.connect).place, rows: upload.rows() }
      }).pipe(lock.withPermits(1), Effect.mapError(failing))
  }
})
