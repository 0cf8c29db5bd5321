/** States to save in tests: every number of step n's is a function of n. */
import { Effect, Option } from "effect"
import { join } from "node:path"
import * as Checkpoints from "../../src/checkpoint/Checkpoints.ts"
import * as StateFile from "../../src/local/StateFile.ts"
import type { Snapshot } from "../../src/local/OptimizerThread.ts"
import type { TrainerState } from "../../src/checkpoint/TrainerState.ts"

export const layout = {
  slots: [
    { name: "a.weight", shape: [300, 400], offset: 0, size: 120_000 },
    { name: "norm.weight", shape: [400], offset: 120_000, size: 400 }
  ],
  size: 120_400
}

export const snapshotOf = (step: number): Snapshot => {
  const vector = (from: number) => new Float32Array(layout.size).fill(step + from)
  return { parameters: vector(0.25), firstMoment: vector(0.5), secondMoment: vector(0.75), updates: step }
}

export const stateOf = (step: number): Omit<TrainerState, "weights"> => ({
  version: 2,
  step,
  policyVersion: step,
  skipped: 0,
  nonFiniteInARow: 0,
  consumed: Array.from({ length: step }, (_, i) => ({ id: `batch-${i}`, step: i + 1 })),
  nextBatchStep: step + 1,
  model: "tiny",
  seed: 1,
  settings: { lr: 0.001 }
})

const reference = { engine: "local", path: "trainer_state.safetensors" }

/** As the local engine writes its checkpoints. */
export const options = (folder: string, snapshot: Snapshot, keep = 2) => ({
  folder,
  keep,
  before: Effect.void,
  write: (partial: string) => Effect.as(StateFile.write(join(partial, reference.path), layout, snapshot), reference)
})

/** The newest checkpoint, and what the local engine finds in it. */
export const newest = (folder: string) =>
  Effect.map(
    Checkpoints.newest(folder, (checkpoint) =>
      Effect.result(
        Effect.mapError(
          StateFile.read(join(checkpoint.folder, checkpoint.state.weights.path), layout),
          ({ message }) => message
        )
      )
    ),
    (found) => ({ ...found, newest: Option.getOrUndefined(found.newest) })
  )
