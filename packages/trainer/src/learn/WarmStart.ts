/**
 * Supervised steps before reinforcement learning: teaches a model from scratch the answer format, so that some rollouts
 * earn a reward. Cross-entropy on completions of demonstrations, a fresh batch per step; AdamW without decay.
 * Demonstrations need not be correct; leave out what the reward is supposed to teach.
 */
import { Effect, Result, type Scope } from "effect"
import * as Preset from "../loss/Preset.ts"
import { type Learner, LearnerEngine } from "./LearnerEngine.ts"
import * as Schedule from "./Schedule.ts"
import { TrainerError } from "./TrainerError.ts"
import type { TrainingSequence } from "./TrainingSequence.ts"
import * as WeightedBatch from "./WeightedBatch.ts"

export interface Demonstration {
  readonly prompt: ReadonlyArray<number>
  /** Tokens to imitate, including the end-of-sequence token. */
  readonly completion: ReadonlyArray<number>
}

export interface Options {
  /** Returns demonstration `index`; each is used once. */
  readonly demonstration: (index: number) => Demonstration
  readonly steps: number
  readonly batchSize: number
  readonly learningRate: number
  readonly warmupSteps?: number
  readonly onStep?: (step: number, loss: number) => Effect.Effect<void>
}

const toSequence = ({ completion, prompt }: Demonstration, group: number): TrainingSequence => {
  const tokens = Int32Array.of(...prompt, ...completion)
  return {
    tokens,
    mask: Uint8Array.from(tokens, (_, at) => (at < prompt.length ? 0 : 1)),
    advantages: new Float32Array(tokens.length),
    temperature: 1,
    score: 0,
    policyVersion: null,
    group
  }
}

const tooFast = (step: number, learningRate: number) => (error: TrainerError) =>
  error.reason === "nonFinite"
    ? new TrainerError({
        reason: "nonFinite",
        message: `the warm start, step ${step}: ${error.message}; lower its learning rate (${learningRate})`,
        cause: error
      })
    : error

/** Returns a learner of the engine in the context, trained on all demonstrations. It lives as long as the scope. */
export const run = Effect.fn("WarmStart.run")(function* (
  options: Options
): Effect.fn.Return<Learner, TrainerError, LearnerEngine | Scope.Scope> {
  const { batchSize, demonstration, learningRate, onStep, steps, warmupSteps = 10 } = options
  const { load, model } = yield* LearnerEngine
  const objective = Result.getOrThrow(Preset.resolve({ preset: "sft" }))
  const learner = yield* load({ objective })
  const schedule = { kind: "constant", peak: learningRate, warmupSteps, steps, floor: 1 } as const
  for (let step = 0; step < steps; step++) {
    const sequences = Array.from({ length: batchSize }, (_, at) => toSequence(demonstration(step * batchSize + at), at))
    const { batch } = WeightedBatch.choose(sequences, objective, {
      maxLength: model.maxPositions,
      vocabSize: model.vocabSize
    })
    const { loss } = yield* learner.forwardBackward(batch)
    const { isApplied } = yield* Effect.mapError(
      learner.optimizerStep(Schedule.learningRate(schedule, step)),
      tooFast(step, learningRate)
    )
    if (!isApplied) {
      return yield* new TrainerError({
        reason: "nonFinite",
        message: `the loss of the warm start is NaN or infinite at step ${step}: lower its learning rate (${learningRate})`
      })
    }
    if (onStep !== undefined) yield* onStep(step + 1, loss)
  }
  return learner
})
