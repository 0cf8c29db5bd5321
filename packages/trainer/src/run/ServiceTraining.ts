/**
 * Trains from the trajectory service: registers the run, claims its batches, records each step's metrics, and
 * acknowledges the batches that a checkpoint contains.
 *
 * A registered run is unchanged, and the service's batch size applies. Metrics go to the `MetricsSink` of the context,
 * or else to the service only. No lease remains when the stream ends. Survives an engine that loses its weights
 * (`EngineRecovery`).
 */
import { type Batch, MetricsSink, TelemetryClient, TrainerClient, TrajectoryError } from "@atropos/core"
import { Effect, type FileSystem, Option, type Path, Result, type Scope, Stream } from "effect"
import * as LeaseJournal from "../checkpoint/LeaseJournal.ts"
import * as BatchSubscription from "./BatchSubscription.ts"
import * as LogprobRecords from "./LogprobRecords.ts"
import * as ServiceWait from "./ServiceWait.ts"
import * as StepMetrics from "./StepMetrics.ts"
import type { Trainer } from "./Trainer.ts"
import { TrainerError } from "../learn/TrainerError.ts"
import * as TrainerSettings from "./TrainerSettings.ts"
import * as TrainerValues from "./TrainerValues.ts"
import type { Hooks } from "./TrainingStep.ts"

/** Losses in a row without a newer checkpoint. */
export const maxLosses = 5

/**
 * Recovers from an engine that lost its weights (`engineLost`, for example a restarted server): returns to the last
 * checkpoint within the same process. Batches trained since are redelivered. Fails after `maxLosses` in a row without a
 * newer checkpoint. Create once per run.
 */
const makeEngineRecovery = (trainer: Pick<Trainer, "reopen" | "step">) => {
  let losses = 0
  let from = -1
  return Effect.fn("EngineRecovery.afterLoss")(function* (loss: TrainerError) {
    let cause = loss
    for (;;) {
      losses++
      yield* Effect.logWarning("engine lost its weights; returning to the last checkpoint", {
        message: cause.message,
        step: yield* trainer.step
      })
      const reopened = yield* Effect.result(trainer.reopen)
      if (Result.isFailure(reopened) && reopened.failure.reason !== "engineLost") return yield* reopened.failure
      if (Result.isFailure(reopened)) cause = reopened.failure
      const step = yield* trainer.step
      if (Result.isSuccess(reopened) && step > from) {
        losses = 1
        from = step
      }
      if (losses > maxLosses) {
        return yield* new TrainerError({
          reason: "engineLost",
          message:
            `${cause.message}; ${losses} times since the last checkpoint (of step ` +
            `${step}): lower checkpoint_interval, or find out why the engine loses its weights`,
          cause
        })
      }
      if (Result.isSuccess(reopened)) {
        yield* Effect.logInfo("training resumed", { step })
        return
      }
    }
  })
}

/**
 * Reports trained batches to the service for `on_stale wait`, in the background and with retries, once the samplers
 * have their weights; environments waiting at a staleness bound then continue.
 */
const makeWaiting: Effect.Effect<Hooks["published"], never, TrainerClient.TrainerClient | Scope.Scope> = Effect.gen(
  function* () {
    const client = yield* TrainerClient.TrainerClient
    const scope = yield* Effect.scope
    let isTaken = true
    return (batch, policyVersion) =>
      Effect.suspend(() => (isTaken ? client.trained(batch, policyVersion) : Effect.void)).pipe(
        Effect.retry(TrajectoryError.reconnecting),
        Effect.catch(({ message, reason }) => {
          // The trainer that now holds the batch will report it.
          if (reason === "leaseLost") return Effect.void
          // Older services lack this endpoint and never delay environments.
          isTaken = reason !== "notFound"
          const log = isTaken ? Effect.logWarning : Effect.logDebug
          return log("could not report a trained batch to the service", {
            batch: batch.id,
            reason,
            message
          })
        }),
        Effect.forkIn(scope),
        Effect.asVoid
      )
  }
)

/** Warns if the service does not let environments wait. */
const checkWaiting = Effect.fnUntraced(function* (
  info: Effect.Effect<{ readonly waitAtStaleness?: number | null }, unknown>,
  bound: number
) {
  const { waitAtStaleness } = yield* Effect.orElseSucceed(info, () => ({ waitAtStaleness: bound }))
  if (waitAtStaleness === bound) return
  yield* Effect.logWarning("this service cannot make environments wait; sequences that are too old are dropped", {
    on_stale: "wait",
    max_staleness: bound,
    because: "it is an earlier version, or the original's; start a newer one: npx @atropos/cli api"
  })
})

export interface Options {
  readonly settings: TrainerSettings.TrainerSettings
  /** Name of this trainer at the service. */
  readonly owner: string
  /** True once no more groups will be submitted (`isOver` of `BatchSubscription`). */
  readonly isOver?: () => boolean
  /** True if rollouts themselves wait for new weights, so that the service need not delay them. Default false. */
  readonly isOnPolicy?: boolean
  /** Called with each batch before its step, which waits for it; also with batches that were already trained on. */
  readonly onBatch?: (batch: Batch.Batch) => Effect.Effect<void, TrainerError>
}

/** The staleness bound at which environments wait; null if they do not. */
const boundOf = ({ isOnPolicy = false, settings }: Options): number | null =>
  isOnPolicy ? null : TrainerSettings.waitAtStaleness(settings.trainer)

const unwritable = (cause: { readonly message: string }) =>
  new TrainerError({ reason: "checkpoint", message: cause.message, cause })

/** Registers the run; returns the step of the first expected batch, if known. */
const register = Effect.fn("ServiceTraining.register")(function* (trainer: Trainer, options: Options) {
  const client = yield* TrainerClient.TrainerClient
  const { trainer: run } = options.settings
  const waitAtStaleness = boundOf(options)
  const step = yield* trainer.step
  const first = step + 1
  const before = yield* ServiceWait.untilAnswered(client.runInfo)
  const journal = yield* Effect.mapError(LeaseJournal.read(run.savePath), unwritable)
  const isNew = before.batchSize < 0
  if (isNew) {
    // Written before registering, so that a successor after a crash also knows it. Leases on another database's batches
    // are meaningless here.
    yield* Effect.mapError(LeaseJournal.write(run.savePath, { firstStep: first, leases: [] }), unwritable)
  } else if (before.batchSize !== run.batchSize) {
    yield* Effect.logWarning("the run has a different batch size", { run: run.run, batchSize: before.batchSize })
  }
  yield* ServiceWait.untilAnswered(
    client.registerRun({
      name: run.run,
      batchSize: run.batchSize,
      maxTokenLength: run.seqLen,
      startingStep: step,
      numSteps: run.trainingSteps,
      checkpointDir: run.savePath,
      saveCheckpointInterval: run.checkpointInterval > 0 ? run.checkpointInterval : run.trainingSteps,
      wandbGroup: run.wandbGroup,
      wandbProject: run.wandbProject,
      advantages: trainer.advantages,
      ...(waitAtStaleness !== null && { waitAtStaleness })
    })
  )
  if (waitAtStaleness !== null) yield* checkWaiting(client.runInfo, waitAtStaleness)
  if (isNew) return Option.some(first)
  const written = Option.flatMap(journal, ({ firstStep }) => Option.fromNullishOr(firstStep))
  const expected = [written, yield* trainer.nextBatchStep].flatMap(Option.toArray)
  return expected.length === 0 ? Option.none<number>() : Option.some(Math.max(...expected))
})

type Steps = Stream.Stream<
  StepMetrics.StepMetrics,
  TrainerError,
  TrainerClient.TrainerClient | TelemetryClient.TelemetryClient | FileSystem.FileSystem | Path.Path
>

const untilLost = (trainer: Trainer, options: Options): Steps =>
  Stream.unwrap(
    Effect.gen(function* () {
      const client = yield* TrainerClient.TrainerClient
      const { leaseSeconds, prefetch, savePath } = options.settings.trainer
      const { onBatch = () => Effect.void } = options
      const deliveries = yield* BatchSubscription.make({
        client,
        owner: options.owner,
        leaseSeconds,
        folder: savePath,
        prefetch,
        isSettled: trainer.isSettled,
        ...(options.isOver && { isOver: options.isOver }),
        nextStep: yield* register(trainer, options)
      })
      const { open } = yield* MetricsSink.orService(yield* TelemetryClient.TelemetryClient)
      const recorder = yield* open({
        kind: "trainer",
        name: "trainer",
        key: "trainer",
        isResumed: (yield* trainer.step) > 0,
        prefix: "",
        config: TrainerValues.inForce(options.settings),
        announced: Effect.orElseSucceed(client.wandbInfo, () => ({ group: null, project: null }))
      })
      const recordLogprobs = yield* LogprobRecords.make()
      const published = boundOf(options) === null ? undefined : yield* makeWaiting
      return trainer.steps(Stream.tap(deliveries.batches, onBatch), {
        settle: deliveries.settle,
        ...(published && { published }),
        recordLogprobs,
        flush: recorder.flush,
        record: (metrics) => recorder.figures(metrics.step, StepMetrics.values(metrics), StepMetrics.labels(metrics))
      })
    })
  )

/** Metrics of every step, trained from the service. A step that was lost with its weights is reported again. */
export const steps = (trainer: Trainer, options: Options): Steps =>
  Stream.suspend(() => {
    const afterLoss = makeEngineRecovery(trainer)
    const training: Steps = Stream.catchIf(
      untilLost(trainer, options),
      ({ reason }) => reason === "engineLost",
      (loss) =>
        Stream.unwrap(
          Effect.as(
            afterLoss(loss),
            Stream.suspend(() => training)
          )
        )
    )
    return training
  })
