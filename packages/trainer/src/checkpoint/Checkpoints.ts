/**
 * The checkpoints of a run: folders `step_<n>` in one folder, n being the number of batches trained on.
 *
 * Each has the weights in the form others load (a PEFT adapter, or a model folder), `trainer_state.safetensors` (exact
 * parameters and optimizer) and `trainer.json` (step, consumed batches, settings). They appear whole (`AtomicFolder`);
 * the newest `keep` stay. One process at a time writes here.
 */
import { Effect, FileSystem, Option, Path } from "effect"
import type { Layout } from "../model/Parameters.ts"
import type { Snapshot } from "../learn/OptimizerThread.ts"
import * as AtomicFolder from "./AtomicFolder.ts"
import * as CheckpointError from "./CheckpointError.ts"
import * as StateFile from "./StateFile.ts"
import * as TrainerState from "./TrainerState.ts"

export interface Checkpoint {
  readonly folder: string
  readonly state: TrainerState.TrainerState
  readonly snapshot: Snapshot
}

export interface Found {
  readonly newest: Option.Option<Checkpoint>
  /** Folders that are no checkpoints: not finished, or not readable. */
  readonly ignored: ReadonlyArray<{ readonly folder: string; readonly reason: string }>
}

export interface Options<E, R> {
  readonly folder: string
  readonly keep: number
  readonly layout: Layout
  /** Writes the weights into a folder in the form that others load. */
  readonly writeWeights: (folder: string, parameters: Float32Array) => Effect.Effect<void, E, R>
}

const stateFile = "trainer_state.safetensors"
const trainerFile = "trainer.json"

const stepOf = (name: string): number | undefined => {
  const digits = /^step_(\d+)$/.exec(name)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

/** Names of step folders, newest first. */
const stepFolders = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.filter((name) => stepOf(name) !== undefined).sort((a, b) => stepOf(b)! - stepOf(a)!)

const list = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  return yield* fs
    .makeDirectory(folder, { recursive: true })
    .pipe(Effect.andThen(fs.readDirectory(folder)), Effect.mapError(CheckpointError.at(folder)))
})

/** One checkpoint. */
export const read = Effect.fn("Checkpoints.read")(function* (folder: string, layout: Layout) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const path = join(folder, trainerFile)
  const state = yield* fs
    .readFileString(path)
    .pipe(Effect.flatMap(TrainerState.decode), Effect.mapError(CheckpointError.at(path)))
  const vectors = yield* StateFile.read(join(folder, stateFile), layout)
  return { folder, state, snapshot: { ...vectors, updates: state.policyVersion } } satisfies Checkpoint
})

/**
 * The newest checkpoint that can be read; fails where there are some and none can, because starting over would bury
 * them.
 */
export const newest = Effect.fn("Checkpoints.newest")(function* (folder: string, layout: Layout) {
  const { join } = yield* Path.Path
  const names = yield* list(folder)
  const ignored = names.filter(AtomicFolder.isPartial).map((name) => ({
    folder: join(folder, name),
    reason: "it was being written or removed when its process ended"
  }))
  for (const name of stepFolders(names)) {
    const result = yield* Effect.result(read(join(folder, name), layout))
    if (result._tag === "Success") return { newest: Option.some(result.success), ignored } satisfies Found
    ignored.push({ folder: join(folder, name), reason: result.failure.message })
  }
  if (ignored.some((one) => stepOf(one.folder.split(/[/\\]/).at(-1)!) !== undefined)) {
    return yield* new CheckpointError.CheckpointError({
      path: folder,
      reason: `none of its checkpoints can be read (${ignored.map(({ reason }) => reason).join("; ")}); move them away to start over`
    })
  }
  return { newest: Option.none(), ignored } satisfies Found
})

/** Removes what was left half-written, and all but the newest `keep`. */
const prune = Effect.fnUntraced(function* (folder: string, keep: number) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const names = yield* list(folder)
  for (const name of stepFolders(names).slice(keep)) yield* AtomicFolder.remove(join(folder, name))
  for (const name of names.filter(AtomicFolder.isPartial)) {
    const path = join(folder, name)
    yield* Effect.mapError(fs.remove(path, { recursive: true, force: true }), CheckpointError.at(path))
  }
})

/** Writes the checkpoint of `state.step`; when it is done the checkpoint is durable. Answers with its folder. */
export const save = Effect.fn("Checkpoints.save")(function* <E, R>(
  { folder, keep, layout, writeWeights }: Options<E, R>,
  state: TrainerState.TrainerState,
  snapshot: Snapshot
) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const target = join(folder, `step_${state.step}`)
  yield* list(folder)
  yield* AtomicFolder.write(
    target,
    Effect.fnUntraced(function* (partial) {
      yield* writeWeights(partial, snapshot.parameters)
      yield* StateFile.write(join(partial, stateFile), layout, snapshot)
      const path = join(partial, trainerFile)
      yield* TrainerState.encode(state).pipe(
        Effect.flatMap((text) => fs.writeFileString(path, `${text}\n`)),
        Effect.mapError(CheckpointError.at(path))
      )
    })
  )
  yield* prune(folder, keep)
  return target
})
