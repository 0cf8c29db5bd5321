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
import { Effect, FileSystem, Option, Path, Predicate, Schema, Struct } from "effect"

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

/** Written to `run.json`, after the settings. */
const Created = Schema.Struct({ created: Schema.Finite })

const createdIn = (written: unknown): number | undefined =>
  Option.getOrUndefined(Option.map(Schema.decodeUnknownOption(Created)(written), ({ created }) => created))

const settingsIn = (written: unknown): unknown =>
  Predicate.isReadonlyObject(written) ? Struct.omit(written as { readonly created?: unknown }, ["created"]) : written

/** The run to resume, or a new one. `identity` must be equal; `ofToday` converts that of an older version. */
export const choose = Effect.fn("RunFolder.choose")(function* (options: Options) {
  const { store } = options
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
  const identity = JSON.parse(JSON.stringify(options.identity))
  const write = (folder: string, created: number) =>
    fs.writeFileString(join(folder, "run.json"), `${JSON.stringify({ ...identity, created })}\n`)

  if (last > 0 && !options.fresh) {
    const name = `${stem}-${last}`
    const folder = join(root, name)
    const written = Option.getOrUndefined(
      decode(yield* Effect.orElseSucceed(fs.readFileString(join(folder, "run.json")), () => ""))
    )
    const done = yield* stepsIn(folder)
    const differences = Differences.between(options.ofToday(settingsIn(written)), identity)
    if (differences.length === 0 && done < options.steps) {
      const stored = yield* store.run(name)
      const created = createdIn(written)
      // A database without the run is another one, or the run was deleted from it.
      const ours = Option.isNone(stored)
        ? yield* store.createRun(name)
        : Option.filter(stored, ({ createdAt }) => created === undefined || createdAt === created)
      if (Option.isSome(ours)) {
        yield* write(folder, ours.value.createdAt)
        return { name, folder, done } satisfies RunFolder
      }
      yield* Effect.logWarning("starting a new run: the database has a run of this name from another folder", { name })
    } else if (done > 0 && done < options.steps) {
      yield* Effect.logWarning("starting a new run: the unfinished one has different settings", {
        unfinished: name,
        differences
      })
    }
  }
  for (let number = last + 1; ; number++) {
    const name = `${stem}-${number}`
    const made = yield* store.createRun(name)
    if (Option.isNone(made)) continue
    const folder = join(root, name)
    yield* fs.makeDirectory(folder, { recursive: true })
    yield* write(folder, made.value.createdAt)
    return { name, folder, done: 0 } satisfies RunFolder
  }
})
