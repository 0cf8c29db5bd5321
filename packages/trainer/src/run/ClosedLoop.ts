/**
 * Runs the closed loop in one process: an environment rolls out, the trajectory service batches, the trainer learns,
 * and its new weights sample the next rollouts.
 *
 * Rollouts of a step wait for the weights of the step `stepsAhead` + 1 before it; at 0 training is on-policy, and the
 * same seed gives the same run. If `steps` ends early or is interrupted, a checkpoint is saved and no lease remains. A
 * failing environment fails the stream; running out of items ends it with a warning.
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
  /** Max steps that sampling may run ahead of training. Default 0, or `max_staleness` with `on_stale` wait. */
  readonly stepsAhead?: number
  /** Name of this trainer at the service. Default `closed loop`. */
  readonly owner?: string
}

export interface ClosedLoop {
  readonly trainer: Trainer.Trainer
  /** Metrics, one element per step, until `training_steps` are done. Run it once. */
  readonly steps: Stream.Stream<StepMetrics, TrainerError | Rollout.RolloutError>
}

export type Needs =
  | LearnerEngine
  | FileSystem.FileSystem
  | Path.Path
  | ServerManager.ServerManager
  | TrajectoryClient.Clients

export const make = (
  options: Options
): Effect.Effect<ClosedLoop, TrainerError, Needs | Environment.Environment | Scope.Scope> =>
  Effect.flatMap(Environment.Environment, (environment) => makeOf([environment], options))

/**
 * Closed loop over several environments, which fill batches by their weights and reserved shares. When this effect
 * completes, the samplers have the trainer's weights, restored from its newest checkpoint if any.
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
      message: `on_stale wait with max_staleness ${bound} lets sampling run ${bound} steps ahead, but steps_ahead is ${stepsAhead}: set only one of them`
    })
  }
  const context = yield* Effect.context<Needs>()
  const fs = yield* FileSystem.FileSystem
  const trainer = yield* Trainer.make(options)
  yield* trainer.publish
  // Counts steps, not updates: a skipped step must also release the next one's rollouts.
  const consumed = yield* SubscriptionRef.make(yield* trainer.step)

  const steps = Stream.unwrap(
    Effect.gen(function* () {
      // The service lives in this process, so unsent groups are of no use to a later run.
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
      // Not merged: a merge would train ahead of the consumer.
      return Stream.transformPull(training, (pull) => Effect.succeed(Effect.raceFirst(pull, failing))).pipe(
        Stream.tap(({ step }) => SubscriptionRef.set(consumed, step)),
        Stream.onEnd(
          Effect.gen(function* () {
            const { batchSize, trainingSteps } = settings.trainer
            const done = yield* trainer.step
            if (done >= trainingSteps) return
            yield* Effect.logWarning("items exhausted", {
              environments: environments.map(({ name }) => name).join(", "),
              steps: `${done} of ${trainingSteps}`,
              because: `fewer than batch_size (${batchSize}) sequences are left: lower training_steps, or add items`
            })
          })
        )
      )
    })
  )
  return { trainer, steps: Stream.provideContext(steps, context) }
})
