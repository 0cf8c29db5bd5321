/**
 * A small policy to train in tests, and batches for it: all a function of their numbers, so that a run can be repeated.
 */
import { type Batch, MemoryTrajectoryClient, type ScoredGroup, Trajectory } from "@atropos/core"
import { Effect, FileSystem, Option, Path } from "effect"
import { LearnerEngine, type LearnerEngineShape } from "../../src/learn/LearnerEngine.ts"
import * as LocalLearner from "../../src/local/LocalLearner.ts"
import type { TrainableModel } from "../../src/model/TrainableModel.ts"
import * as Trainer from "../../src/run/Trainer.ts"
import * as TrainerSettings from "../../src/run/TrainerSettings.ts"
import type { TrainerValues } from "../../src/run/TrainerValues.ts"
import { toyPolicy, toyTheta, uniforms, vocabulary } from "../loss/ToyPolicy.ts"

export const model: TrainableModel = {
  name: "toy",
  policy: toyPolicy("all"),
  vocabSize: vocabulary,
  hiddenSize: 6,
  maxPositions: 64,
  initial: Float32Array.from(toyTheta(toyPolicy("all"))),
  writeWeights: (folder, parameters) =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const bytes = new Uint8Array(parameters.buffer, parameters.byteOffset, parameters.byteLength)
      yield* fs.writeFile((yield* Path.Path).join(folder, "weights.bin"), bytes)
    })
}

/** Four sequences of five to ten tokens, or of `lengths`, the first two a prompt. */
export const group = (
  seed: number,
  more: Partial<ScoredGroup.ScoredGroup> = {},
  { least, max: most }: { readonly least: number; readonly max: number } = { least: 5, max: 10 }
): ScoredGroup.ScoredGroup => {
  const uniform = uniforms(seed * 7919 + 1)
  for (let i = 0; i < 8; i++) uniform()
  const tokens = Array.from({ length: 4 }, () =>
    Int32Array.from({ length: least + Math.floor(uniform() * (most - least + 1)) }, () =>
      Math.floor(uniform() * vocabulary)
    )
  )
  return {
    tokens,
    masks: tokens.map(({ length }) => Trajectory.maskFrom(2, length)),
    scores: Float64Array.from(tokens, () => uniform()),
    inferenceLogprobs: tokens.map((sequence) =>
      Float32Array.from(sequence, (_, t) => (t < 2 ? Trajectory.notSampled : -2.5 - uniform()))
    ),
    policyVersions: tokens.map(() => seed % 5),
    ...more
  }
}

export const batch = (step: number, groups = [group(2 * step), group(2 * step + 1)]): Batch.Batch => ({
  id: `batch-${step}`,
  step,
  leaseToken: `lease-${step}`,
  leaseUntil: Number.MAX_SAFE_INTEGER,
  deliveries: 1,
  groups
})

/** A batch whose loss is not a number: at this temperature logits are beyond what a float32 holds. */
export const overflowing = (step: number): Batch.Batch =>
  batch(step, [group(step, { generationParams: { temperature: 1e-40 } })])

/** The client of a registered run with this many batches of one group waiting. */
export const serviceWith = Effect.fnUntraced(function* (batches: number) {
  const client = MemoryTrajectoryClient.make({ batchSize: 4 })
  const environment = yield* client.registerEnvironment({
    desiredName: "toy",
    weight: 1,
    groupSize: 4,
    maxTokenLength: 16,
    minBatchAllocation: null
  })
  const groups = Array.from({ length: batches }, (_, i) => ({ key: `key-${i}`, group: group(i) }))
  yield* client.submit(Option.getOrThrow(environment).envId, groups)
  return client
})

/** Its sequences were sampled by nobody: their logprobs are no policy's, so nothing is compared. */
export const settings = (
  savePath: string,
  trainer: Partial<TrainerSettings.TrainerFields> = {},
  loss: Parameters<typeof TrainerSettings.complete>[0]["loss"] = {}
): TrainerSettings.TrainerSettings =>
  TrainerSettings.complete({
    trainer: {
      savePath,
      lr: 0.02,
      trainingSteps: 6,
      checkpointInterval: 2,
      tokenBudget: 64,
      seqLen: 16,
      maxMismatch: 100,
      ...trainer
    },
    loss: { preset: "dapo", oldPolicy: "trainer", ...loss }
  })

export interface More extends Partial<LocalLearner.Options>, TrainerValues, Pick<Trainer.Options, "health"> {
  /** What stands between trainer and engine. */
  readonly around?: (engine: LearnerEngineShape) => LearnerEngineShape
}

/** A trainer of the engine of this machine, and the parameters that one has. */
export const trainer = Effect.fnUntraced(function* (
  settings: TrainerSettings.TrainerSettings,
  { around = (engine) => engine, ...more }: More = {}
) {
  const { graph, model: other = model, publish, ...values } = more
  const engine = yield* LocalLearner.make({ model: other, ...(graph && { graph }), ...(publish && { publish }) })
  let learner: LocalLearner.LocalLearner | undefined
  const noting = around({
    ...engine,
    load: (options) => Effect.tap(engine.load(options), (loaded) => Effect.sync(() => (learner = loaded)))
  })
  const made = yield* Effect.provideService(Trainer.make({ settings, ...values }), LearnerEngine, noting)
  return { ...made, parameters: Effect.suspend(() => learner!.parameters) }
})
