/**
 * Manages the folder of a training run: resumes from its checkpoints and saves new ones. One trainer at a time owns it,
 * until the scope closes; a second one is rejected while the first is alive.
 */
import { type Batch, FolderLock, WireGroup } from "@atropos/core"
import * as MakeFolder from "@atropos/core/base/system/MakeFolder"
import { wireName } from "@atropos/core/base/Settings"
import { Effect, FileSystem, Option, Path, Result, type Scope, Struct } from "effect"
import * as CheckpointError from "../checkpoint/CheckpointError.ts"
import * as Checkpoints from "../checkpoint/Checkpoints.ts"
import * as Differences from "../checkpoint/Differences.ts"
import type { Learner, LearnerEngineShape, LoadOptions } from "../learn/LearnerEngine.ts"
import { TrainerError } from "../learn/TrainerError.ts"
import type { Lease } from "./Leases.ts"
import * as TrainerProgress from "./TrainerProgress.ts"
import * as TrainerSettings from "./TrainerSettings.ts"

/** Called with batches that are in a durable checkpoint. */
export type Settle = (batches: ReadonlyArray<Lease>) => Effect.Effect<void>

export interface Resumed {
  readonly learner: Learner
  readonly progress: TrainerProgress.TrainerProgress
  /**
   * Writes a checkpoint of the current progress, then settles its batches. `before` runs after the files are on disk
   * but before the checkpoint counts: a process killed before that repeats the steps. Uninterruptible.
   */
  readonly save: (settle: Settle, before: Effect.Effect<void>) => Effect.Effect<void, TrainerError>
  /** True if steps were taken since the last checkpoint. */
  readonly isUnsaved: () => boolean
}

export interface RunFolder {
  /**
   * Resumes from the newest checkpoint whose weights the engine can restore. The learner lives as long as the scope.
   */
  readonly resume: Effect.Effect<Resumed, TrainerError, Scope.Scope>
  /** Writes the batch of an untrainable step next to the checkpoints; returns its path. */
  readonly reject: (step: number, batch: Batch.Batch) => Effect.Effect<string, TrainerError>
}

export interface Options {
  readonly engine: LearnerEngineShape
  readonly settings: TrainerSettings.TrainerSettings
  /** Settings and names of values, as written to checkpoints. */
  readonly written: { readonly [name: string]: unknown }
  /** Load options of the engine, except the checkpoint to resume from. */
  readonly loading: Omit<LoadOptions, "from">
}

const failed = (cause: { readonly message: string }) =>
  new TrainerError({ reason: "checkpoint", message: cause.message, cause })

const failing = (cause: { readonly message: string }) => Effect.fail(failed(cause))

/** Writes `non_finite_step_<n>.jsonl`: one group per line, in the original's format. Returns its path. */
const writeRejected = Effect.fnUntraced(function* (folder: string, step: number, batch: Batch.Batch) {
  const fs = yield* FileSystem.FileSystem
  const path = (yield* Path.Path).join(folder, `non_finite_step_${step}.jsonl`)
  const lines = batch.groups.map((group) => `${WireGroup.encode(group)}\n`)
  yield* fs
    .makeDirectory(folder, { recursive: true })
    .pipe(Effect.andThen(fs.writeFileString(path, lines.join(""))), Effect.mapError(CheckpointError.at(path)))
  return path
})

const claim = Effect.fnUntraced(function* (folder: string) {
  yield* Effect.mapError(MakeFolder.make(folder), CheckpointError.at(folder)).pipe(Effect.mapError(failed))
  yield* Effect.mapError(FolderLock.hold(folder), (cause) =>
    cause.isHeld
      ? new TrainerError({
          reason: "settings",
          message: `${cause.message}: stop that trainer, or choose another save_path`,
          cause
        })
      : failed(cause)
  )
})

const tellDifferences = (state: Checkpoints.Checkpoint["state"], written: Options["written"]) => {
  const ofRunning = TrainerSettings.ofRunning.map(wireName)
  const differences = Differences.between(Struct.omit(state.settings, ofRunning), Struct.omit(written, ofRunning))
  return differences.length === 0
    ? Effect.void
    : Effect.logWarning("settings differ from the checkpoint's", { differences })
}

/** Loads the newest checkpoint, if any, and a learner with its weights. The checkpoint must be of this model. */
const newest = Effect.fnUntraced(function* ({ engine, loading, settings, written }: Options) {
  const open = Effect.fnUntraced(function* ({ folder, state }: Checkpoints.Checkpoint) {
    if (state.model !== engine.model.name) {
      return yield* new TrainerError({
        reason: "settings",
        message: `${folder} contains a checkpoint of ${state.model}, not of ${engine.model.name}: use another save_path, or that model`
      })
    }
    const from = { reference: state.weights, folder, version: state.policyVersion }
    return yield* engine.load({ ...loading, from }).pipe(
      Effect.map((learner) => Result.succeed(learner)),
      Effect.catchIf(
        ({ reason }) => reason === "checkpoint",
        ({ message }) => Effect.succeed(Result.fail(message))
      )
    )
  })
  const found = yield* Effect.catchTag(Checkpoints.newest(settings.trainer.savePath, open), "CheckpointError", failing)
  for (const one of found.ignored) yield* Effect.logWarning("checkpoint ignored", one)
  if (Option.isNone(found.newest)) return undefined
  const { folder, opened: learner, state } = found.newest.value
  yield* Effect.logInfo("resuming", { folder, step: state.step })
  yield* tellDifferences(state, written)
  return { learner, state }
})

/** Takes exclusive ownership of the folder `save_path`. */
export const open = Effect.fn("RunFolder.open")(function* (
  options: Options
): Effect.fn.Return<RunFolder, TrainerError, FileSystem.FileSystem | Path.Path | Scope.Scope> {
  const { engine, loading, settings, written } = options
  const { keepCheckpoints: keep, savePath: folder, seed } = settings.trainer
  const files = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  yield* claim(folder)

  const resume = Effect.gen(function* () {
    const resumed = yield* newest(options)
    const learner = resumed?.learner ?? (yield* engine.load(loading))
    const progress = TrainerProgress.make(resumed?.state)
    let savedStep = progress.step
    return {
      learner,
      progress,
      save: Effect.fnUntraced(function* (settle, before) {
        const state = progress.state({ model: engine.model.name, seed, settings: written })
        const write = (partial: string) => learner.save(partial, state.policyVersion)
        const saved = yield* Checkpoints.save({ folder, keep, write, before }, state).pipe(
          Effect.catchTag("CheckpointError", failing),
          Effect.provideContext(files)
        )
        savedStep = state.step
        yield* Effect.logDebug("checkpoint saved", { folder: saved })
        yield* settle(progress.takeUnsettled())
      }, Effect.uninterruptible),
      isUnsaved: () => progress.step > savedStep
    } satisfies Resumed
  }).pipe(Effect.withSpan("RunFolder.resume"))

  return {
    resume: Effect.provideContext(resume, files),
    reject: (step, batch) =>
      writeRejected(folder, step, batch).pipe(Effect.mapError(failed), Effect.provideContext(files))
  }
})
