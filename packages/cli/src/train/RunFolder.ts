/**
 * Selects the checkpoint folder of an `up` run: `<root>/<environment>-<n>`, with `run.json` in it.
 *
 * The newest unfinished run with the same settings is resumed; otherwise a new one starts. Settings about length or
 * location (steps, device, threads) do not distinguish runs.
 */
import * as Differences from "@atropos/trainer/checkpoint/Differences"
import * as TrainerState from "@atropos/trainer/checkpoint/TrainerState"
import { Effect, FileSystem, Option, Path, Schema } from "effect"

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

/** The run to resume, or a new one. `identity` must be equal; `ofToday` converts that of an older version. */
export const choose = Effect.fn("RunFolder.choose")(function* (options: {
  readonly root: string
  readonly environment: string
  readonly identity: unknown
  readonly ofToday: (written: unknown) => unknown
  readonly steps: number
  readonly fresh: boolean
}) {
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
  const identity = JSON.stringify(options.identity)
  if (last > 0 && !options.fresh) {
    const name = `${stem}-${last}`
    const folder = join(root, name)
    const written = yield* Effect.orElseSucceed(fs.readFileString(join(folder, "run.json")), () => "")
    const done = yield* stepsIn(folder)
    const differences = Differences.between(
      Option.getOrUndefined(Option.map(decode(written), options.ofToday)),
      JSON.parse(identity)
    )
    if (differences.length === 0 && done < options.steps) return { name, folder, done } satisfies RunFolder
    if (done > 0 && done < options.steps) {
      yield* Effect.logWarning("starting a new run: the unfinished one has different settings", {
        unfinished: name,
        differences
      })
    }
  }
  const name = `${stem}-${last + 1}`
  const folder = join(root, name)
  yield* fs.makeDirectory(folder, { recursive: true })
  yield* fs.writeFileString(join(folder, "run.json"), `${identity}\n`)
  return { name, folder, done: 0 } satisfies RunFolder
})
