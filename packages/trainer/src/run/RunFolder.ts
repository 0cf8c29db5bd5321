/**
 * The folder of a training run: where training stands in it, and how it gets there.
 *
 * One trainer at a time has the folder, until the scope closes; a second one is refused while the first one lives. A
 * batch is settled only after the checkpoint that contains it is durable.
 */
import { type Batch, FolderLock } from "@atropos/core"
import { wireName } from "@atropos/core/base/Settings"
import { Effect, FileSystem, Option, type Path, type Scope, Struct } from "effect"
import * as CheckpointError from "../checkpoint/CheckpointError.ts"
import * as Checkpoints from "../checkpoint/Checkpoints.ts"
import * as Differences from "../checkpoint/Differences.ts"
import * as RejectedBatch from "../checkpoint/RejectedBatch.ts"
import * as OptimizerThread from "../learn/OptimizerThread.ts"
import { TrainerError } from "../learn/TrainerError.ts"
import type { TrainableModel } from "../model/TrainableModel.ts"
import type { Lease } from "./Leases.ts"
import * as TrainerProgress from "./TrainerProgress.ts"
import * as TrainerSettings from "./TrainerSettings.ts"

/** Is called with batches that are in a durable checkpoint. */
export type Settle = (batches: ReadonlyArray<Lease>) => Effect.Effect<void>

export interface RunFolder {
  readonly progress: TrainerProgress.TrainerProgress
  /** Where the optimizer starts: at the newest checkpoint, else at the model's own weights. */
  readonly snapshot: OptimizerThread.Snapshot
  /** Writes a checkpoint of the present progress, then settles the batches in it. Nothing interrupts it. */
  readonly save: (
    snapshot: Effect.Effect<OptimizerThread.Snapshot, TrainerError>,
    settle: Settle
  ) => Effect.Effect<void, TrainerError>
  /** Whether steps were taken that no checkpoint has. */
  readonly isUnsaved: () => boolean
  /** Writes a batch that cannot be trained on beside the checkpoints; answers with its path. */
  readonly reject: (batch: Batch.Batch) => Effect.Effect<string, TrainerError>
}

const failed = (cause: { readonly message: string }) =>
  new TrainerError({ reason: "checkpoint", message: cause.message, cause })

const claim = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  yield* Effect.mapError(fs.makeDirectory(folder, { recursive: true }), CheckpointError.at(folder)).pipe(
    Effect.mapError(failed)
  )
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

/** The newest checkpoint, if there is one; it has to be one of this model. */
const newest = Effect.fnUntraced(function* (model: TrainableModel, settings: TrainerSettings.TrainerSettings) {
  const { ignored, newest } = yield* Effect.mapError(
    Checkpoints.newest(settings.trainer.savePath, model.policy.layout),
    failed
  )
  for (const one of ignored) yield* Effect.logWarning("checkpoint ignored", one)
  if (Option.isNone(newest)) return undefined
  const { folder, state } = newest.value
  if (state.model !== model.name) {
    return yield* new TrainerError({
      reason: "settings",
      message: `${folder} is a checkpoint of ${state.model}, not of ${model.name}: use another save_path, or that model`
    })
  }
  yield* Effect.logInfo("resuming", { folder, step: state.step })
  const ofRunning = TrainerSettings.ofRunning.map(wireName)
  const differences = Differences.between(
    Struct.omit(state.settings, ofRunning),
    Struct.omit(TrainerSettings.encode(settings), ofRunning)
  )
  if (differences.length > 0) yield* Effect.logWarning("settings differ from the checkpoint's", { differences })
  return newest.value
})

/** Takes the folder `save_path` and reads its newest checkpoint. */
export const open = Effect.fn("RunFolder.open")(function* (
  model: TrainableModel,
  settings: TrainerSettings.TrainerSettings
): Effect.fn.Return<RunFolder, TrainerError, FileSystem.FileSystem | Path.Path | Scope.Scope> {
  const { keepCheckpoints: keep, savePath: folder, seed } = settings.trainer
  const files = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  yield* claim(folder)
  const resumed = yield* newest(model, settings)
  const progress = TrainerProgress.make(resumed?.state)
  let savedStep = progress.step

  return {
    progress,
    snapshot: resumed?.snapshot ?? OptimizerThread.fresh(model.initial),
    save: Effect.fnUntraced(function* (snapshotNow, settle) {
      const snapshot = yield* snapshotNow
      const state = progress.state({ model: model.name, seed, settings: TrainerSettings.encode(settings) })
      const saved = yield* Checkpoints.save(
        { folder, keep, layout: model.policy.layout, writeWeights: model.writeWeights },
        state,
        snapshot
      ).pipe(Effect.mapError(failed), Effect.provide(files))
      savedStep = state.step
      yield* Effect.logDebug("checkpoint saved", { folder: saved })
      yield* settle(progress.takeUnsettled())
    }, Effect.uninterruptible),
    isUnsaved: () => progress.step > savedStep,
    reject: (batch) =>
      RejectedBatch.write(folder, progress.step, batch).pipe(Effect.mapError(failed), Effect.provide(files))
  }
})
