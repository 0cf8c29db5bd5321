/**
 * Writes to Weights & Biases: one run per source, in the project and group announced by the trainer, with the
 * original's names: an environment's metrics are prefixed by its registered name, except those of the inference servers
 * (`server/…`).
 *
 * Everything is first written to `<folder>/wandb/<source>-<id>` (`Journal`) and sent from there every 15 seconds, with
 * growing pauses during an outage; unsent data stays there for `atropos wandb-sync`, as does everything in offline
 * mode. A source that continues earlier work continues its run; repeated steps are recorded once.
 */
import {
  Clock,
  Context,
  DateTime,
  type Duration,
  Effect,
  FileSystem,
  Option,
  Path,
  type PlatformError,
  type Redacted
} from "effect"
import { randomInt } from "node:crypto"
import { hostname } from "node:os"
import * as Reason from "../../base/Reason.ts"
import { fileName } from "../FileSink.ts"
import { type Entry, type Sink, SinkError, type Source } from "../Sink.ts"
import * as BackgroundUpload from "./BackgroundUpload.ts"
import * as Journal from "./Journal.ts"
import * as Parts from "./Parts.ts"
import * as Uploader from "./Uploader.ts"
import * as WandbApi from "./WandbApi.ts"

export interface Options {
  /** Runs are stored in `<folder>/wandb`. */
  readonly folder: string
  /** The destination; undefined: offline. */
  readonly server: { readonly baseUrl: string; readonly apiKey: Redacted.Redacted } | undefined
  readonly project: string | null
  readonly group: string | null
  readonly name: string | null
  readonly entity: string | null
  readonly runId: string | null
  /** Time between uploads. Default 15 seconds. */
  readonly every?: Duration.Input
  /** Reports a run's URL or folder to the user. Default: the log. */
  readonly tell?: (message: string) => Effect.Effect<void>
}

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

const newRun = Effect.fnUntraced(function* (source: Source, options: Options) {
  const announced = yield* source.announced
  const run: Journal.Run = {
    version: 1,
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
    isAttached: options.runId !== null,
    config: source.config
  }
  return run
})

/** The run of this source to continue, unless another process writes to it. */
const earlier = Effect.fnUntraced(function* (parent: string, source: Source, { runId }: Options) {
  const runs = yield* Journal.find(parent, ({ message }) =>
    Effect.logWarning("skipped unreadable run folder", { message })
  )
  const fitting = runs.filter(
    ({ run }) =>
      run.kind === source.kind && run.key === source.key && (runId === null ? source.isResumed : run.id === runId)
  )
  const newest = fitting.at(-1)
  if (newest === undefined) return Option.none<Journal.Journal>()
  return yield* Journal.reopen(newest.folder).pipe(
    Effect.asSome,
    Effect.catchIf(
      (error) => error._tag === "JournalError" && error.isHeld && runId === null,
      () => Effect.succeedNone
    )
  )
})

/** The newest recorded step, from which a continuing process starts. */
const newestStep = Effect.fnUntraced(function* (journal: Journal.Journal) {
  let step = Number.NEGATIVE_INFINITY
  for (let position = 0; ;) {
    const { next, parts } = yield* journal.read(position)
    if (next === position) return step
    position = next
    for (const part of parts) if ("step" in part) step = Math.max(step, part.step)
  }
})

const unwritable = (cause: Journal.JournalError | PlatformError.PlatformError) =>
  new SinkError({
    reason: "passing",
    message: `the run's folder: ${cause._tag === "PlatformError" ? Reason.ofFile(cause) : cause.message}`,
    cause
  })

/** Runs in this folder, uploaded from there if there is a server. */
export const make = Effect.fnUntraced(function* (options: Options) {
  // Not the whole context: its scope is not that of what is opened.
  const context = yield* Effect.map(
    Effect.context<FileSystem.FileSystem | Path.Path>(),
    Context.pick(FileSystem.FileSystem, Path.Path)
  )
  const path = yield* Path.Path
  const parent = path.join(options.folder, "wandb")
  const { every = "15 seconds", tell = Effect.logInfo } = options
  const api = options.server && (yield* WandbApi.make(options.server))

  const open = Effect.fnUntraced(function* (source: Source) {
    const journal = yield* earlier(parent, source, options)
    if (Option.isSome(journal)) return journal.value
    const run = yield* newRun(source, options)
    return yield* Journal.create(path.join(parent, `${fileName(source.key)}-${run.id}`), run)
  })

  const sink: Sink = {
    name: "wandb",
    takesTables: true,
    batch: 1000,
    open: Effect.fnUntraced(function* (source) {
      const journal = yield* Effect.mapError(open(source), unwritable)
      const before = yield* Effect.mapError(newestStep(journal), unwritable)
      if (journal.uploaded().isComplete) {
        yield* Effect.mapError(journal.saveUploaded({ ...journal.uploaded(), isComplete: false }), unwritable)
      }
      let newest = before

      const upload =
        api &&
        (yield* BackgroundUpload.start(journal, Uploader.make(journal, api), {
          baseUrl: options.server.baseUrl,
          every,
          tell
        }))
      return {
        write: (entries: ReadonlyArray<Entry>) =>
          Effect.gen(function* () {
            const made = Parts.make(entries, journal.run, { before, newest })
            yield* Effect.mapError(journal.append(made.parts, made.files), unwritable)
            newest = made.newest
          }),
        finish: (exitCode: number) =>
          Effect.gen(function* () {
            const at = yield* Clock.currentTimeMillis
            yield* Effect.mapError(journal.append([{ exit: exitCode, at }]), unwritable)
            if (upload !== undefined) return yield* upload.finish
            yield* tell(
              `Weights & Biases: ${source.name} is recorded in ${journal.folder}; npx @atropos/cli wandb-sync uploads it`
            )
          })
      }
    }, Effect.provideContext(context))
  }
  return sink
})
