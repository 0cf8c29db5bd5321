/**
 * The closed loop in one process: an environment rolls out, the trajectory service batches, the trainer learns, and its
 * new weights sample the next rollouts.
 *
 * Rollouts for a step wait for the weights of the step before it, or of `stepsAhead` steps earlier: at 0 every batch is
 * sampled from the weights that it trains, and the same seed gives the same run. Rollouts run for as long as `steps` is
 * pulled from; ended early or interrupted, it leaves a checkpoint and nothing leased. An environment that fails fails
 * the stream. One whose items run out ends it, with a warning, when there is no whole batch left to train on.
 */
import { Environment, Rollout, type ServerManager, type TrajectoryClient } from "@atropos/core"
import { Effect, Fiber, FileSystem, type Path, type Scope, Stream, SubscriptionRef } from "effect"
import type { LearnerEngine } from "../learn/LearnerEngine.ts"
import * as ServiceTraining from "./ServiceTraining.ts"
import type { StepMetrics } from "./StepMetrics.ts"
import * as Trainer from "./Trainer.ts"
import { TrainerError } from "../learn/TrainerError.ts"
import * as TrainerSettings from "./TrainerSettings.ts"

export interface Options extends Trainer.Options {
  /** Steps that sampling may be ahead of training. Default 0, or `max_staleness` with `on_stale` wait. */
  readonly stepsAhead?: number
  /** Names this trainer to the service. Default `closed loop`. */
  readonly owner?: string
}

export interface ClosedLoop {
  readonly trainer: Trainer.Trainer
  /** One step's metrics for each batch, until `training_steps` are done. Run it once. */
  readonly steps: Stream.Stream<StepMetrics, TrainerError | Rollout.RolloutError>
}

/** What a loop stands on: an engine that learns, policies that are sampled, and the service. */
export type Needs =
  | LearnerEngine
  | FileSystem.FileSystem
  | Path.Path
  | ServerManager.ServerManager
  | TrajectoryClient.Clients

/** The loop of the one environment in the context. */
export const make = (
  options: Options
): Effect.Effect<ClosedLoop, TrainerError, Needs | Environment.Environment | Scope.Scope> =>
  Effect.flatMap(Environment.Environment, (environment) => makeOf([environment], options))

/**
 * The loop of several environments, which fill the batches by their weights and reserved shares. Samplers have the
 * trainer's weights, of its newest checkpoint where there is one, when this is done.
 */
export const makeOf = Effect.fn("ClosedLoop.makeOf")(function* (
  environments: ReadonlyArray<Environment.EnvironmentShape>,
  options: Options
): Effect.fn.Return<ClosedLoop, TrainerError, Needs | Scope.Scope> {
  const { owner = "closed loop", settings } = options
  const bound = TrainerSettings.waitAtStaleness(settings.trainer)
  const { stepsAhead = bound ?? 0 } = options
  if (bound !== null && stepsAhead !== bound) {
    return yield* new TrainerError({
      reason: "settings",
      message: `on_stale wait with max_staleness ${bound} lets sampling run ${bound} steps ahead, and steps_ahead is ${stepsAhead}: give one of both`
    })
  }
  const context = yield* Effect.context<Needs>()
  const fs = yield* FileSystem.FileSystem
  const trainer = yield* Trainer.make(options)
  yield* trainer.publish
  // Counted in steps, not in updates: a step that was skipped has to let the next one's rollouts begin all the same.
  const consumed = yield* SubscriptionRef.make(yield* trainer.step)

  const steps = Stream.unwrap(
    Effect.gen(function* () {
      // The service is in this process: what could not be sent to it belongs to no later run.
      const spoolDirectory = yield* Effect.orDie(fs.makeTempDirectoryScoped({ prefix: "atropos-spool-" }))
      let isOver = false
      const rollouts = yield* Rollout.runAll(environments, {
        spoolDirectory,
        onPolicy: { versions: SubscriptionRef.changes(consumed), stepsAhead }
      }).pipe(
        Effect.tap(() => Effect.sync(() => (isOver = true))),
        Effect.forkScoped
      )
      const failing = Effect.andThen(Fiber.join(rollouts), Effect.never)
      const training = ServiceTraining.steps(trainer, {
        settings,
        owner,
        isOver: () => isOver,
        isOnPolicy: true
      })
      // Not merged: that would train ahead of whoever pulls.
      return Stream.transformPull(training, (pull) => Effect.succeed(Effect.raceFirst(pull, failing))).pipe(
        Stream.tap(({ step }) => SubscriptionRef.set(consumed, step)),
        Stream.onEnd(
          Effect.gen(function* () {
            const { batchSize, trainingSteps } = settings.trainer
            const done = yield* trainer.step
            if (done >= trainingSteps) return
            yield* Effect.logWarning("the items ran out", {
              environments: environments.map(({ name }) => name).join(", "),
              steps: `${done} of ${trainingSteps}`,
              because: `fewer than the ${batchSize} sequences of a batch are left: lower training_steps, or give the environment more items`
            })
          })
        )
      )
    })
  )
  return { trainer, steps: Stream.provideContext(steps, context) }
})
