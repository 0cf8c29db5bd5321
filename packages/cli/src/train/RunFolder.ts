/**
 * Selects the checkpoint folder of an `up` run: `<root>/<environment>-<n>`, with `run.json` in it.
 *
 * The newest unfinished run with the same settings is resumed; otherwise a new one starts. Settings about length or
 * location (steps, device, threads) do not distinguish runs.
 *
 * A Postgres server may be shared with other folders and machines, whose runs have names of the same form: a new run
 * takes a name that is free in the database too, and `run.json` holds the time when the database created it.
 */
import type { TrajectoryStore } from "@atropos/api"
import * as Differences from "@atropos/trainer/checkpoint/Differences"
import * as TrainerState from "@atropos/trainer/checkpoint/TrainerState"
import { Effect, FileSystem, Option, Path, Predicate, Schema } from "effect"

export interface RunFolder {
  readonly name: string
  readonly folder: string
  /** Steps done by earlier processes. */
  readonly done: number
}

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))

export const stepsIn = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const names = yield* Effect.orElseSucceed(fs.readDirectory(folder), (): Array<string> => [])
  const steps = names.flatMap((name) => (/^step_\d+$/.test(name) ? [Number(name.slice("step_".length))] : []))
  const newest = steps.sort((a, b) => b - a)[0]
  if (newest === undefined) return 0
  return yield* fs.readFileString(join(folder, `step_${newest}`, "trainer.json")).pipe(
    Effect.flatMap(TrainerState.decode),
    Effect.map(({ step }) => step),
    Effect.orElseSucceed(() => 0)
  )
})

interface Options {
  readonly root: string
  readonly environment: string
  readonly identity: object
  readonly ofToday: (written: unknown) => unknown
  readonly steps: number
  readonly fresh: boolean
  readonly store: Pick<TrajectoryStore.TrajectoryStoreShape, "createRun" | "run">
}

/** The content of `run.json`: the settings, then when the database created the run, in milliseconds since the epoch. */
const readRun = (text: string): { readonly settings: unknown; readonly created: unknown } => {
  const written = Option.getOrUndefined(decode(text))
  if (!Predicate.isReadonlyObject(written)) return { settings: written, created: undefined }
  const { created, ...settings }: { readonly created?: unknown } = written
  return { settings, created }
}

const writeRun = Effect.fnUntraced(function* (folder: string, { identity }: Options, created: number) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  yield* fs.writeFileString(join(folder, "run.json"), `${JSON.stringify({ ...identity, created })}\n`)
})

/** The newest run, if it is unfinished and has these settings; other settings of an unfinished one are reported. */
const resumed = Effect.fnUntraced(function* (name: string, folder: string, options: Options) {
  const { identity, ofToday, steps, store } = options
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const text = yield* Effect.orElseSucceed(fs.readFileString(join(folder, "run.json")), () => "")
  const { created, settings } = readRun(text)
  const done = yield* stepsIn(folder)
  if (done >= steps) return Option.none<RunFolder>()
  const differences = Differences.between(ofToday(settings), JSON.parse(JSON.stringify(identity)))
  if (differences.length > 0) {
    if (done > 0) {
      const message = "starting a new run: the unfinished one has different settings"
      yield* Effect.logWarning(message, { unfinished: name, differences })
    }
    return Option.none<RunFolder>()
  }
  const stored = yield* store.run(name)
  // A database without the run is another one, or the run was deleted from it.
  const ours = Option.isNone(stored)
    ? yield* store.createRun(name)
    : Option.filter(stored, ({ createdAt }) => created === undefined || createdAt === created)
  if (Option.isNone(ours)) {
    yield* Effect.logWarning("starting a new run: the database has a run of this name from another folder", { name })
    return Option.none<RunFolder>()
  }
  yield* writeRun(folder, options, ours.value.createdAt)
  return Option.some<RunFolder>({ name, folder, done })
})

/** The run to resume, or a new one. `identity` must be equal; `ofToday` converts that of an older version. */
export const choose = Effect.fn("RunFolder.choose")(function* (options: Options) {
  const fs = yield* FileSystem.FileSystem
  const { join, resolve } = yield* Path.Path
  const root = resolve(options.root)
  const stem = options.environment.replaceAll(/[^\w-]+/g, "-")
  yield* fs.makeDirectory(root, { recursive: true })
  const numbers = (yield* fs.readDirectory(root)).flatMap((name) =>
    name.startsWith(`${stem}-`) && /^\d+$/.test(name.slice(stem.length + 1))
      ? [Number(name.slice(stem.length + 1))]
      : []
  )
  const last = Math.max(0, ...numbers)
  if (last > 0 && !options.fresh) {
    const name = `${stem}-${last}`
    const found = yield* resumed(name, join(root, name), options)
    if (Option.isSome(found)) return found.value
  }
  for (let number = last + 1; ; number++) {
    const name = `${stem}-${number}`
    const made = yield* options.store.createRun(name)
    if (Option.isNone(made)) continue
    const folder = join(root, name)
    yield* fs.makeDirectory(folder, { recursive: true })
    yield* writeRun(folder, options, made.value.createdAt)
    return { name, folder, done: 0 } satisfies RunFolder
  }
})
