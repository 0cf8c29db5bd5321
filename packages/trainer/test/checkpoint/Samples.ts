/** States to save in tests: every number of step n's is a function of n. */
import { Effect } from "effect"
import type { Snapshot } from "../../src/learn/OptimizerThread.ts"
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

export const stateOf = (step: number): TrainerState => ({
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

export const options = (folder: string, keep = 2) => ({ folder, keep, layout, writeWeights: () => Effect.void })
