/** The closed loop, and the held-out items asked before and after. */
import { Environment } from "@atropos/core"
import * as ClosedLoop from "@atropos/trainer/ClosedLoop"
import type * as Engine from "@atropos/trainer/policy/Engine"
import type * as Trainer from "@atropos/trainer/Trainer"
import type { Model } from "@atropos/trainer/model/Model"
import type { StepMetrics } from "@atropos/trainer/StepMetrics"
import type { TrainerSettings } from "@atropos/trainer/TrainerSettings"
import { Effect, Option, Stream } from "effect"
import * as Publisher from "../train/Publisher.ts"
import type { Curve, Solved } from "./Curve.ts"
import * as HeldOut from "./HeldOut.ts"

export interface Options {
  readonly model: Model
  readonly settings: TrainerSettings
  readonly stepsAhead: number
  /** How the graph is built, where the trainer's own choice is not wanted. */
  readonly graph?: ClosedLoop.Options["graph"]
  /** Called before anything is sampled or trained. */
  readonly onReady?: (trainer: Trainer.Trainer) => Effect.Effect<void, unknown, Engine.Engine>
  readonly onStep: (metrics: StepMetrics) => Effect.Effect<void>
}

export interface Outcome {
  readonly curve: Curve
  readonly before: Option.Option<Solved>
  readonly after: Option.Option<Solved>
}

const noCurve: Curve = { rewards: [], tokens: 0, sequences: 0 }

/** Runs until the trainer's steps are done. */
export const run = Effect.fn("Loop.run")(function* (options: Options) {
  const { graph, model, onReady, onStep, settings, stepsAhead } = options
  const environment = yield* Environment.Environment
  const publish = yield* Publisher.make(model, settings)
  const { steps, trainer } = yield* ClosedLoop.make({
    model,
    settings,
    stepsAhead,
    ...(graph && { graph }),
    owner: "atropos up",
    ...(publish && { publish })
  })
  if (onReady !== undefined) yield* onReady(trainer)
  const { seqLen } = settings.trainer
  const start = yield* trainer.step
  const before = yield* HeldOut.ask(environment, { seqLen, step: start })
  // Made with the first step: the run is registered then.
  const record = yield* Effect.cached(HeldOut.recorder(environment, { isResumed: start > 0 }))
  const told = (step: number, evaluated: typeof before) =>
    Option.match(evaluated, {
      onNone: () => Effect.void,
      onSome: (figures) => Effect.flatMap(record, (tell) => tell(step, figures))
    })
  const curve = yield* steps.pipe(
    Stream.runFoldEffect(
      () => noCurve,
      Effect.fnUntraced(function* (sum, metrics) {
        if (sum.rewards.length === 0) yield* told(start, before)
        yield* onStep(metrics)
        return {
          rewards: [...sum.rewards, metrics.rewardMean],
          tokens: sum.tokens + metrics.trainedTokens,
          sequences: sum.sequences + metrics.sequences
        }
      })
    )
  )
  const end = yield* trainer.step
  const after = yield* HeldOut.ask(environment, { seqLen, step: end })
  if (end > start) yield* told(end, after)
  return {
    before: Option.map(before, HeldOut.solvedOf),
    curve,
    after: Option.map(after, HeldOut.solvedOf)
  } satisfies Outcome
}, Effect.scoped)
