/**
 * Supervised steps before reinforcement learning: teaches a model from scratch the form of its task, so that some
 * rollouts earn something. Cross-entropy on the completions of demonstrations, one fresh batch a step; AdamW without
 * decay.
 *
 * The demonstrations need not be right: what the reward is to teach is better left out of them.
 */
import { Effect, Result, type Scope } from "effect"
import type { Executor } from "../exec/Executor.ts"
import * as Learner from "./Learner.ts"
import * as Preset from "../loss/Preset.ts"
import * as MicroBatch from "./MicroBatch.ts"
import * as Schedule from "./Schedule.ts"
import type { TrainableModel } from "../model/TrainableModel.ts"
import { TrainerError } from "./TrainerError.ts"
import type * as TrainGraph from "./TrainGraph.ts"
import type { TrainingSequence } from "./TrainingSequence.ts"

export interface Demonstration {
  readonly prompt: ReadonlyArray<number>
  /** Tokens to imitate, the end of the sequence included. */
  readonly completion: ReadonlyArray<number>
}

export interface Options {
  /** Number i; each is used once. */
  readonly demonstration: (index: number) => Demonstration
  readonly steps: number
  /** Demonstrations a step. */
  readonly batchSize: number
  readonly learningRate: number
  readonly warmupSteps?: number
  readonly graph?: Partial<TrainGraph.TrainGraphOptions>
  /** Told after each step. */
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

/** The parameters after all steps. */
export const run = Effect.fn("WarmStart.run")(function* (
  model: Pick<TrainableModel, "policy" | "vocabSize" | "hiddenSize" | "initial">,
  options: Options
): Effect.fn.Return<Float32Array, TrainerError, Executor | Scope.Scope> {
  const { batchSize, demonstration, graph, learningRate, onStep, steps, warmupSteps = 10 } = options
  const objective = Result.getOrThrow(Preset.resolve({ preset: "sft" }))
  const learner = yield* Learner.make({
    policy: model.policy,
    objective,
    graph: { remat: false, entropy: false, ...graph },
    snapshot: Learner.fresh(model.initial)
  })
  const schedule = { kind: "constant", peak: learningRate, warmupSteps, steps, floor: 1 } as const
  for (let step = 0; step < steps; step++) {
    const sequences = Array.from({ length: batchSize }, (_, at) => toSequence(demonstration(step * batchSize + at), at))
    const packed = MicroBatch.pack(sequences, objective, {
      ...MicroBatch.defaults,
      maxLength: Math.max(...sequences.map(({ tokens }) => tokens.length)),
      vocabSize: model.vocabSize,
      attentionLength: 6 * model.hiddenSize
    })
    const { loss } = yield* learner.compute(packed)
    const { isApplied } = yield* learner.update(Schedule.learningRate(schedule, step)).pipe(
      Effect.mapError((error) =>
        error.reason === "nonFinite"
          ? new TrainerError({
              reason: "nonFinite",
              message: `the warm start, step ${step}: ${error.message}; lower its learning rate`,
              cause: error
            })
          : error
      )
    )
    if (!isApplied) {
      return yield* new TrainerError({
        reason: "nonFinite",
        message: `the warm start's loss is not a number at step ${step}: lower its learning rate (${learningRate})`
      })
    }
    if (onStep !== undefined) yield* onStep(step + 1, loss)
  }
  return yield* learner.parameters
}, Effect.scoped)
