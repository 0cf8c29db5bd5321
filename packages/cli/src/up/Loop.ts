/**
 * The closed loop in one process: an environment rolls out, the trajectory service keeps and batches, the trainer learns, and its new
 * weights sample the next rollouts.
 *
 * Rollouts for a step wait for the weights of the step before it, or of `stepsAhead` steps earlier: at 0 every batch is sampled from
 * the weights that it trains, and the same seed gives the same run. Interrupted, it leaves a checkpoint and nothing leased.
 */
import { Environment, Evaluation, Rollout, TrajectoryClient } from "@atropos/core"
import type * as Executor from "@atropos/trainer/exec/Executor"
import * as MetricsFile from "@atropos/trainer/MetricsFile"
import * as Model from "@atropos/trainer/model/Model"
import * as Engine from "@atropos/trainer/policy/Engine"
import * as ServiceTraining from "@atropos/trainer/ServiceTraining"
import type { StepMetrics } from "@atropos/trainer/StepMetrics"
import * as Trainer from "@atropos/trainer/Trainer"
import type { TrainerSettings } from "@atropos/trainer/TrainerSettings"
import { Effect, Fiber, FileSystem, Option, Path, Stream, SubscriptionRef } from "effect"
import { metricsFile } from "../Training.ts"
import type { Curve, Solved } from "./Curve.ts"
import * as Policy from "./Policy.ts"

export interface Options {
  readonly model: Model.Model
  readonly settings: TrainerSettings
  readonly stepsAhead: number
  /** Recomputing activations saves memory where a model is large. */
  readonly remat: boolean
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
        Effect.map(Option.some)
      )
  })

const noCurve: Curve = { rewards: [], tokens: 0, sequences: 0 }

/** Runs until the trainer's steps are done. */
export const run = Effect.fn("Loop.run")(function* ({ model, onStep, remat, settings, stepsAhead }: Options) {
  const environment = yield* Environment.Environment
  const engine = yield* Engine.Engine
  yield* TrajectoryClient.TrajectoryClient
  const trainer = yield* Trainer.make({
    settings,
    model: Model.trainable(model),
    graph: { remat },
    publish: ({ parameters, version }) => engine.load(Policy.policyName, version, parameters)
  })
  const consumed = yield* SubscriptionRef.make(yield* trainer.step)
  yield* engine.load(Policy.policyName, yield* trainer.policyVersion, yield* trainer.parameters)
  const before = yield* evaluate(environment)

  // The service is in this process: what could not be sent to it belongs to no later run.
  const files = yield* FileSystem.FileSystem
  const spoolDirectory = yield* Effect.orDie(files.makeTempDirectoryScoped({ prefix: "atropos-spool-" }))
  // Scoped, so that it is stopped while the service is still there to take what it has.
  const rollouts = yield* Effect.forkScoped(
    Rollout.run(environment, {
      spoolDirectory,
      onPolicy: { versions: SubscriptionRef.changes(consumed), stepsAhead }
    })
  )
  const { join } = yield* Path.Path
  const record = yield* MetricsFile.open(join(settings.trainer.savePath, metricsFile))
  const training = ServiceTraining.steps(trainer, { settings, owner: "atropos up" }).pipe(
    Stream.tap(record),
    Stream.runFoldEffect(
      () => noCurve,
      (sum, metrics) => {
        const curve: Curve = {
          rewards: [...sum.rewards, metrics.rewardMean],
          tokens: sum.tokens + metrics.trainedTokens,
          sequences: sum.sequences + metrics.sequences
        }
        return Effect.as(Effect.andThen(SubscriptionRef.set(consumed, metrics.step), onStep(metrics, curve)), curve)
      }
    )
  )
  // An environment that fails ends the whole; one that is through waits for the trainer.
  const curve = yield* Effect.raceFirst(training, Effect.andThen(Fiber.join(rollouts), Effect.never))
  yield* Fiber.interrupt(rollouts)
  return { before, curve, after: yield* evaluate(environment) } satisfies Outcome
}, Effect.scoped)

export type Needs = Environment.Environment | Engine.Engine | TrajectoryClient.TrajectoryClient | Executor.Executor
