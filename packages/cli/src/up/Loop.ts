/** The closed loop, and the held-out items asked before and after. */
import { Environment, Evaluation, SequenceLimit } from "@atropos/core"
import * as ClosedLoop from "@atropos/trainer/ClosedLoop"
import type * as Engine from "@atropos/trainer/policy/Engine"
import type * as Trainer from "@atropos/trainer/Trainer"
import type { Model } from "@atropos/trainer/model/Model"
import type { StepMetrics } from "@atropos/trainer/StepMetrics"
import type { TrainerSettings } from "@atropos/trainer/TrainerSettings"
import { Effect, Option, Stream } from "effect"
import * as Publisher from "../train/Publisher.ts"
import type { Curve, Solved } from "./Curve.ts"

export interface Options {
  readonly model: Model
  readonly settings: TrainerSettings
  readonly stepsAhead: number
  /** How the graph is built, where the trainer's own choice is not wanted. */
  readonly graph?: ClosedLoop.Options["graph"]
  /** Called before anything is sampled or trained. */
  readonly onReady?: (trainer: Trainer.Trainer) => Effect.Effect<void, unknown, Engine.Engine>
  readonly onStep: (metrics: StepMetrics, curve: Curve) => Effect.Effect<void>
}

export interface Outcome {
  readonly curve: Curve
  readonly before: Option.Option<Solved>
  readonly after: Option.Option<Solved>
}

/** Items of the evaluation asked at once. */
const evaluationConcurrency = 64

/** The environment's held-out items, answered greedily by the present weights. */
const evaluate = ({ evaluation }: Environment.EnvironmentShape) =>
  Option.match(evaluation, {
    onNone: () => Effect.succeed(Option.none<Solved>()),
    onSome: (items) =>
      items.pipe(
        Stream.mapEffect(({ evaluate }) => evaluate, { concurrency: evaluationConcurrency }),
        Stream.runFold(
          (): Solved => ({ correct: 0, items: 0 }),
          (sum, answers) => ({
            correct: sum.correct + Evaluation.mean(answers.map(({ correct }) => (correct ? 1 : 0))),
            items: sum.items + 1
          })
        ),
        Effect.asSome
      )
  })

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
  const before = yield* SequenceLimit.within(seqLen)(evaluate(environment))
  const curve = yield* steps.pipe(
    Stream.runFoldEffect(
      () => noCurve,
      (sum, metrics) => {
        const curve: Curve = {
          rewards: [...sum.rewards, metrics.rewardMean],
          tokens: sum.tokens + metrics.trainedTokens,
          sequences: sum.sequences + metrics.sequences
        }
        return Effect.as(onStep(metrics, curve), curve)
      }
    )
  )
  return { before, curve, after: yield* SequenceLimit.within(seqLen)(evaluate(environment)) } satisfies Outcome
}, Effect.scoped)
