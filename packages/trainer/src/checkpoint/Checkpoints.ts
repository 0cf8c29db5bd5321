/**
 * Manages a run's checkpoints: folders `step_<n>`, where n is the number of batches trained on; the newest `keep`
 * remain.
 *
 * Each contains `trainer.json` (step, consumed batches, settings, reference of the weights) and the engine's local
 * files: weights in a standard format (a PEFT adapter, or a model folder) and `trainer_state.safetensors` (exact
 * parameters and optimizer). Written atomically (`AtomicFolder`), by one process at a time.
 */
import { Effect, FileSystem, Option, Path, Result } from "effect"
import type { WeightsReference } from "../learn/LearnerEngine.ts"
import * as AtomicFolder from "./AtomicFolder.ts"
import * as CheckpointError from "./CheckpointError.ts"
import * as TrainerState from "./TrainerState.ts"

export interface Checkpoint {
  readonly folder: string
  readonly state: TrainerState.TrainerState
}

/** A folder that is not a valid checkpoint: unfinished or unreadable. */
export interface Ignored {
  readonly folder: string
  readonly reason: string
}

export interface Found<A> {
  readonly newest: Option.Option<Checkpoint & { readonly opened: A }>
  readonly ignored: ReadonlyArray<Ignored>
}

export interface Options<E, R> {
  readonly folder: string
  readonly keep: number
  /** Writes weights and optimizer, or what is needed to find them again, into a folder. */
  readonly write: (folder: string) => Effect.Effect<WeightsReference, E, R>
  /** Runs when the checkpoint is on disk but does not count yet. */
  readonly before: Effect.Effect<void>
}

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

export const read = Effect.fn("Checkpoints.read")(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = (yield* Path.Path).join(folder, trainerFile)
  const state = yield* fs
    .readFileString(path)
    .pipe(Effect.flatMap(TrainerState.decode), Effect.mapError(CheckpointError.at(path)))
  return { folder, state } satisfies Checkpoint
})

/**
 * The newest checkpoint that can be read and opened: `open` returns the reason if its weights are unavailable. Fails if
 * there are checkpoints but none can be opened, because starting over would hide them.
 */
export const newest = Effect.fn("Checkpoints.newest")(function* <A, E, R>(
  folder: string,
  open: (checkpoint: Checkpoint) => Effect.Effect<Result.Result<A, string>, E, R>
) {
  const { join } = yield* Path.Path
  const names = yield* list(folder)
  const ignored: Array<Ignored> = names.filter(AtomicFolder.isPartial).map((name) => ({
    folder: join(folder, name),
    reason: "incomplete: its process ended while writing or removing it"
  }))
  const steps = stepFolders(names).map((name) => join(folder, name))
  for (const step of steps) {
    const state = yield* Effect.result(read(step))
    const opened = Result.isFailure(state) ? Result.fail(state.failure.message) : yield* open(state.success)
    if (Result.isSuccess(opened) && Result.isSuccess(state)) {
      const found: Found<A> = { newest: Option.some({ ...state.success, opened: opened.success }), ignored }
      return found
    }
    if (Result.isFailure(opened)) ignored.push({ folder: step, reason: opened.failure })
  }
  if (steps.length > 0) {
    return yield* new CheckpointError.CheckpointError({
      path: folder,
      reason: `none of its checkpoints can be read (${ignored.map(({ reason }) => reason).join("; ")}); move them away to start over`
    })
  }
  const none: Found<A> = { newest: Option.none(), ignored }
  return none
})

/** Removes unfinished folders, and all checkpoints except the newest `keep`. */
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

/** Writes the checkpoint of `state.step`, which is durable on completion. Returns its folder. */
export const save = Effect.fn("Checkpoints.save")(function* <E, R>(
  { before, folder, keep, write }: Options<E, R>,
  state: Omit<TrainerState.TrainerState, "weights">
) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const target = join(folder, `step_${state.step}`)
  yield* list(folder)
  yield* AtomicFolder.write(
    target,
    Effect.fnUntraced(function* (partial) {
      const weights = yield* write(partial)
      const path = join(partial, trainerFile)
      yield* TrainerState.encode({ ...state, weights }).pipe(
        Effect.flatMap((text) => fs.writeFileString(path, `${text}\n`)),
        Effect.mapError(CheckpointError.at(path))
      )
    }),
    before
  )
  yield* prune(folder, keep)
  return target
})
