/**
 * The trainer: batches in, one step's metrics for each out.
 *
 * `make` gives a value whose `steps` turns any stream of batches into a stream of metrics; `ServiceTraining` feeds it
 * from the trajectory service and acknowledges there. Steps are taken one after the other, as fast as they are pulled.
 *
 * Guarantees
 * - A batch is trained on once. Those in a durable checkpoint, or trained on since, are recognised by id and step and
 *   passed to `settle` instead.
 * - `record` is called with every step that a checkpoint will contain, also with one that an interruption cuts off
 *   after its update.
 * - A batch is settled only when a checkpoint that contains it is durable: with an interval of k steps, up to k batches
 *   stay unsettled. What a killed process had trained on since its last checkpoint comes again, in the same order, and
 *   makes the same parameters.
 * - The stream's end and its interruption save a checkpoint; its failure does not: what came after the last one is done
 *   again.
 * - A step whose loss or gradient is not a number leaves the weights alone, counts, and consumes its batch;
 *   `max_non_finite` of them in a row stop the trainer, with the batch in `non_finite_step_<n>.jsonl` beside the
 *   checkpoints.
 * - A step whose update leaves weights that nothing can be computed from stops it at once: they are neither published
 *   nor saved.
 * - Same batches, settings and number of threads give the same bits on the CPU, interrupted or not, in whatever order a
 *   batch's groups come.
 * - One trainer at a time uses a folder of checkpoints; a second one is refused while the first one lives.
 */
import type { Batch, ScoreAdvantage } from "@atropos/core"
import { Cause, Clock, Effect, Exit, type FileSystem, Option, type Path, Ref, Result, type Scope, Stream } from "effect"
import { type DeviceKind, Executor } from "../exec/Executor.ts"
import * as Learner from "../learn/Learner.ts"
import * as MemoryPlan from "../learn/MemoryPlan.ts"
import * as Rehearsal from "../learn/Rehearsal.ts"
import { TrainerError } from "../learn/TrainerError.ts"
import * as TrainGraph from "../learn/TrainGraph.ts"
import * as Preset from "../loss/Preset.ts"
import type { TrainableModel } from "../model/TrainableModel.ts"
import * as RunFolder from "./RunFolder.ts"
import * as StepClock from "./StepClock.ts"
import type { StepMetrics } from "./StepMetrics.ts"
import * as StepTrace from "./StepTrace.ts"
import type * as TrainerSettings from "./TrainerSettings.ts"
import * as TrainingStep from "./TrainingStep.ts"

/** Weights that samplers should use from now on. */
export interface Weights {
  /** The policy version: how many updates made them. */
  readonly version: number
  /** A copy, the receiver's own. */
  readonly parameters: Float32Array
}

export interface Options {
  readonly settings: TrainerSettings.TrainerSettings
  readonly model: TrainableModel
  /** How the graph is built; by default as `MemoryPlan` chooses for the model, the device and the token budget. */
  readonly graph?: Partial<TrainGraph.TrainGraphOptions>
  /** Called with the first weights before the first step, and after every update. Training waits for it. */
  readonly publish?: (weights: Weights) => Effect.Effect<void, { readonly message: string }>
}

export type Hooks = Partial<TrainingStep.Hooks>

export interface Trainer {
  /** How scores become advantages here, for those who look on. */
  readonly advantages: ScoreAdvantage.Recipe
  /** Batches consumed so far: where a resumed run begins. */
  readonly step: Effect.Effect<number>
  /** Step the service is expected to give the next batch; none before the first. */
  readonly nextBatchStep: Effect.Effect<Option.Option<number>>
  /** Whether a durable checkpoint holds this batch. */
  readonly isSettled: (batch: { readonly id: string; readonly step: number }) => boolean
  /** How many updates made the present weights. */
  readonly policyVersion: Effect.Effect<number>
  /** A copy of the present weights. */
  readonly parameters: Effect.Effect<Float32Array, TrainerError>
  /** Seconds that the gradient of one made-up sequence of that many tokens takes; changes nothing. */
  readonly measure: (tokens: number) => Effect.Effect<number, TrainerError>
  /** Metrics of a step per batch, until `training_steps` are done or the batches end. Run one such stream at a time. */
  readonly steps: <E, R>(
    batches: Stream.Stream<Batch.Batch, E, R>,
    hooks?: Hooks
  ) => Stream.Stream<StepMetrics, TrainerError | E, R>
}

const wrong = (message: string, cause?: unknown) => new TrainerError({ reason: "settings", message, cause })

/** How the training graph is built and loaded. */
const planOf = ({ graph, model, settings: { trainer } }: Options, device: DeviceKind) => {
  const tokens = Math.max(trainer.tokenBudget, trainer.seqLen)
  const plan = model.shape && MemoryPlan.choose({ shape: model.shape, tokens, rowLength: trainer.seqLen }, device)
  const { prepack = false, ...planned } = plan ?? {}
  return { prepack, graph: { ...TrainGraph.defaults, ...planned, ...graph } }
}

export const make = Effect.fn("Trainer.make")(function* (
  options: Options
): Effect.fn.Return<Trainer, TrainerError, Executor | FileSystem.FileSystem | Path.Path | Scope.Scope> {
  const { model, settings } = options
  const { trainer } = settings
  const preset = Preset.resolve(settings.loss)
  if (Result.isFailure(preset)) return yield* wrong(preset.failure.message, preset.failure)
  const objective = preset.success
  if (trainer.seqLen > model.maxPositions) {
    return yield* wrong(
      `seq_len ${trainer.seqLen} is more than the ${model.maxPositions} positions of ${model.name}: ` +
        `set seq_len to ${model.maxPositions} or less`
    )
  }
  const { device } = yield* Executor
  const { graph, prepack } = planOf(options, device.kind)
  const folder = yield* RunFolder.open(model, settings)
  const { progress } = folder
  const learner = yield* Learner.make({
    policy: model.policy,
    objective,
    graph,
    prepack,
    snapshot: folder.snapshot,
    reference: (current) => TrainGraph.withoutAdapter(model.policy.layout, current) ?? model.initial.slice(),
    optimizer: {
      beta1: trainer.adamBeta1,
      beta2: trainer.adamBeta2,
      epsilon: trainer.adamEpsilon,
      weightDecay: trainer.weightDecay,
      maxNorm: trainer.maxGradNorm
    }
  })

  const publish = Effect.gen(function* () {
    if (options.publish === undefined) return
    const weights = { version: progress.policyVersion, parameters: yield* learner.parameters }
    yield* Effect.mapError(
      options.publish(weights),
      (cause) => new TrainerError({ reason: "publish", message: `weights not published: ${cause.message}`, cause })
    )
  })
  const isPublished = yield* Ref.make(false)
  const publishFirst = Effect.gen(function* () {
    if (yield* Ref.get(isPublished)) return
    yield* publish
    yield* Ref.set(isPublished, true)
  })

  const multiple = graph.chunks
  const step = TrainingStep.make({ model, settings: trainer, objective, multiple, learner, folder, publish })
  const steps = stepsOf({ folder, learner, step, publishFirst, trainingSteps: trainer.trainingSteps })

  return {
    advantages: {
      loss: objective.name,
      baseline: objective.baseline,
      advantageScale: objective.advantageScale,
      isUsed: objective.isPolicyGradient
    },
    step: Effect.sync(() => progress.step),
    nextBatchStep: Effect.sync(() => Option.fromNullishOr(progress.nextBatchStep)),
    isSettled: progress.isSettled,
    policyVersion: Effect.sync(() => progress.policyVersion),
    parameters: learner.parameters,
    measure: Rehearsal.make({ learner, objective, vocabSize: model.vocabSize, multiple }),
    steps: (batches, hooks) => (progress.step >= trainer.trainingSteps ? Stream.empty : steps(batches, hooks))
  }
})

interface Parts {
  readonly folder: RunFolder.RunFolder
  readonly learner: Learner.Learner
  readonly step: TrainingStep.TrainingStep
  /** Hands the first weights on, once. */
  readonly publishFirst: Effect.Effect<void, TrainerError>
  readonly trainingSteps: number
}

/** A step for each batch that is new; those that were trained on before are settled, or wait for their checkpoint. */
const stepsOf =
  ({ folder, learner, publishFirst, step, trainingSteps }: Parts): Trainer["steps"] =>
  (batches, { record = () => Effect.void, settle = () => Effect.void } = {}) => {
    const save = Effect.suspend(() => (folder.isUnsaved() ? folder.save(learner.snapshot, settle) : Effect.void))
    return Stream.unwrap(
      Effect.gen(function* () {
        yield* publishFirst
        let since = yield* Clock.currentTimeNanos
        const take = Effect.fnUntraced(function* (batch: Batch.Batch) {
          const arrival = yield* Clock.currentTimeNanos
          const seen = folder.progress.recognise(batch)
          if (seen === "settled") yield* settle([batch])
          if (seen !== "new") {
            since = yield* Clock.currentTimeNanos
            return []
          }
          const clock = StepClock.make(arrival)
          const waitSeconds = Number(arrival - since) / 1e9
          const metrics = yield* StepTrace.around(
            { batch, since, arrival, end: clock.end },
            step(batch, { waitSeconds, clock }, { record, settle })
          )
          since = clock.end()
          return [metrics]
        })
        return batches.pipe(
          Stream.mapEffect(take),
          Stream.flattenIterable,
          Stream.takeUntil(({ step }) => step >= trainingSteps),
          // The batches ended early.
          Stream.concat(Stream.drain(Stream.fromEffect(save))),
          Stream.onExit((exit) =>
            Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)
              ? Effect.catchTag(save, "TrainerError", ({ message }) =>
                  Effect.logError("no checkpoint at the end", { message })
                )
              : Effect.void
          )
        )
      })
    )
  }
