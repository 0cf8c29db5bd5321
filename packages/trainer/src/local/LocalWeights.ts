/**
 * Saves and restores the local engine's model in a checkpoint folder: `trainer_state.safetensors` (exact parameters and
 * optimizer) and the weights in a format that other programs load (a PEFT adapter or a model folder). References are
 * relative to the folder, so that a checkpoint may be moved.
 */
import { Effect, FileSystem, Path } from "effect"
import type { Kept, LoadOptions, WeightsReference } from "../learn/LearnerEngine.ts"
import { TrainerError } from "../learn/TrainerError.ts"
import type { TrainableModel } from "../model/TrainableModel.ts"
import * as OptimizerThread from "./OptimizerThread.ts"
import * as StateFile from "./StateFile.ts"
import * as TrainGraph from "./TrainGraph.ts"

export const engine = "local"

const stateFile = "trainer_state.safetensors"

export interface Start {
  readonly snapshot: OptimizerThread.Snapshot
  /** A copy of the reference policy's parameters, made on demand. */
  readonly reference: Effect.Effect<Float32Array, TrainerError>
}

export interface LocalWeights {
  /** Loads the starting state: the copy to resume from, the initial weights, or the model's own. */
  readonly start: (options: Pick<LoadOptions, "from" | "initial">) => Effect.Effect<Start, TrainerError>
  readonly save: (folder: string, snapshot: OptimizerThread.Snapshot) => Effect.Effect<WeightsReference, TrainerError>
}

const failed = (cause: { readonly message: string }) =>
  new TrainerError({ reason: "checkpoint", message: cause.message, cause })

export const make = Effect.fnUntraced(function* (
  model: TrainableModel
): Effect.fn.Return<LocalWeights, never, FileSystem.FileSystem | Path.Path> {
  const files = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  const { join } = yield* Path.Path
  const { layout } = model.policy

  const read = Effect.fnUntraced(function* ({ folder, reference }: Kept) {
    if (reference.engine !== engine) {
      return yield* new TrainerError({
        reason: "settings",
        message:
          `${folder} contains weights of the engine ${reference.engine}, not of this machine: ` +
          "continue with that engine, or use another save_path"
      })
    }
    return yield* StateFile.read(join(folder, reference.path), layout).pipe(
      Effect.mapError(failed),
      Effect.provideContext(files)
    )
  })

  return {
    start: Effect.fnUntraced(function* ({ from, initial }) {
      const begun =
        initial === undefined ? Effect.succeed(model.initial) : Effect.map(read(initial), (one) => one.parameters)
      const snapshot = yield* from === undefined
        ? Effect.map(begun, OptimizerThread.fresh)
        : Effect.map(read(from), ({ updates = from.version, ...vectors }) => ({ ...vectors, updates }))
      return {
        snapshot,
        // For an adapter the reference is the base model, so any adapter's parameters will do.
        reference: Effect.map(
          begun,
          (parameters) => model.neutral ?? TrainGraph.withoutAdapter(layout, parameters) ?? parameters.slice()
        )
      }
    }),
    save: (folder, snapshot) =>
      Effect.all(
        [model.writeWeights(folder, snapshot.parameters), StateFile.write(join(folder, stateFile), layout, snapshot)],
        {
          discard: true
        }
      ).pipe(Effect.mapError(failed), Effect.as({ engine, path: stateFile }), Effect.provideContext(files))
  }
})
