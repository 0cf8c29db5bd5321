/**
 * Training from the trajectory service: registers the run, claims its batches, records each step's metrics,
 * acknowledges what a checkpoint holds.
 *
 * A run that is registered already stays as it is; the service's batch size then rules. Metrics go to the `MetricsSink`
 * of the context, or to the service alone; all else follows `Trainer` and `Deliveries`. When the stream ends, however
 * it does, nothing stays leased.
 */
import { MetricsSink, TelemetryClient, TrainerClient, type TrajectoryError } from "@atropos/core"
import { Effect, type FileSystem, Option, type Path, Stream } from "effect"
import * as LeaseJournal from "../checkpoint/LeaseJournal.ts"
import * as Deliveries from "./Deliveries.ts"
import * as StepMetrics from "./StepMetrics.ts"
import type { Trainer } from "./Trainer.ts"
import { TrainerError } from "../learn/TrainerError.ts"
import * as TrainerSettings from "./TrainerSettings.ts"

export interface Options {
  readonly settings: TrainerSettings.TrainerSettings
  /** Names this trainer to the service. */
  readonly owner: string
  /** Whether nobody will submit any more (`isOver` of `Deliveries`). */
  readonly isOver?: () => boolean
}

const unwritable = (cause: { readonly message: string }) =>
  new TrainerError({ reason: "checkpoint", message: cause.message, cause })

const refused = (cause: { readonly message: string }) =>
  new TrainerError({ reason: "service", message: `the trajectory service: ${cause.message}`, cause })

/** Announces the run; answers with the step of the batch that should come first, where that is known. */
const register = Effect.fn("ServiceTraining.register")(function* (trainer: Trainer, { settings }: Options) {
  const client = yield* TrainerClient.TrainerClient
  const { trainer: given } = settings
  const step = yield* trainer.step
  const first = step + 1
  const patient = <A>(effect: Effect.Effect<A, TrajectoryError.TrajectoryError>) =>
    Effect.mapError(Deliveries.waiting(effect), refused)
  const before = yield* patient(client.runInfo)
  const journal = yield* Effect.mapError(LeaseJournal.read(given.savePath), unwritable)
  const isNew = before.batchSize < 0
  if (isNew) {
    // Written first, so that whoever comes after a crash knows it too. Leases on another database's batches mean
    // nothing here.
    yield* Effect.mapError(LeaseJournal.write(given.savePath, { firstStep: first, leases: [] }), unwritable)
  } else if (before.batchSize !== given.batchSize) {
    yield* Effect.logWarning("the run has another batch size", { run: given.run, batchSize: before.batchSize })
  }
  yield* patient(
    client.registerRun({
      name: given.run,
      batchSize: given.batchSize,
      maxTokenLength: given.seqLen,
      startingStep: step,
      numSteps: given.trainingSteps,
      checkpointDir: given.savePath,
      saveCheckpointInterval: given.checkpointInterval > 0 ? given.checkpointInterval : given.trainingSteps,
      wandbGroup: given.wandbGroup,
      wandbProject: given.wandbProject,
      advantages: trainer.advantages
    })
  )
  if (isNew) return Option.some(first)
  const written = Option.flatMap(journal, ({ firstStep }) => Option.fromNullishOr(firstStep))
  const known = [written, yield* trainer.nextBatchStep].flatMap(Option.toArray)
  return known.length === 0 ? Option.none<number>() : Option.some(Math.max(...known))
})

/** The metrics of every step, trained from the service. */
export const steps = (
  trainer: Trainer,
  options: Options
): Stream.Stream<
  StepMetrics.StepMetrics,
  TrainerError,
  TrainerClient.TrainerClient | TelemetryClient.TelemetryClient | FileSystem.FileSystem | Path.Path
> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const client = yield* TrainerClient.TrainerClient
      const { leaseSeconds, prefetch, savePath } = options.settings.trainer
      const deliveries = yield* Deliveries.make({
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
        config: TrainerSettings.encode(options.settings),
        announced: Effect.orElseSucceed(client.wandbInfo, () => ({ group: null, project: null }))
      })
      return trainer.steps(deliveries.batches, {
        settle: deliveries.settle,
        record: (metrics) => recorder.figures(metrics.step, StepMetrics.values(metrics), StepMetrics.labels(metrics))
      })
    })
  )
