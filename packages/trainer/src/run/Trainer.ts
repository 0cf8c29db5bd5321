/**
 * Trains on a stream of batches and returns a stream with the metrics of each step.
 *
 * `ServiceTraining` feeds it from the trajectory service. Steps run one after another, as fast as they are pulled.
 *
 * Guarantees
 * - A batch is trained on once: batches in a durable checkpoint, or trained on since, are recognised by id and step and
 *   passed to `settle`.
 * - `record` is called with every step before a checkpoint that contains it counts, also with a step that is
 *   interrupted after its update. Steps repeated after a kill are recorded twice.
 * - A batch is settled only when a checkpoint that contains it is durable: with an interval of k steps, up to k batches
 *   are unsettled. After a kill they are redelivered in the same order and produce the same parameters.
 * - A checkpoint is saved when the stream ends or is interrupted, but not when it fails: steps after the last
 *   checkpoint are then repeated.
 * - A step with a NaN or infinite loss or gradient leaves the weights unchanged and consumes its batch;
 *   `max_non_finite` of them in a row stop the trainer, with the batch in `non_finite_step_<n>.jsonl` next to the
 *   checkpoints.
 * - `stop_on` saves the step that breaks one of its rules, ends the stream and fails.
 * - An update that leaves unusable weights stops the trainer immediately; they are neither published nor saved.
 * - The same batches, settings, values and thread count give bit-identical results on the CPU, interrupted or not,
 *   regardless of the order of groups in a batch.
 * - One trainer at a time uses a checkpoint folder; a second one is rejected while the first is alive.
 */
import type { Batch, ScoreAdvantage } from "@atropos/core"
import type * as Health from "@atropos/core/health/Health"
import { Cause, Clock, Effect, Exit, type FileSystem, Option, type Path, Result, Scope, Stream } from "effect"
import { type Kept, LearnerEngine } from "../learn/LearnerEngine.ts"
import * as TimingProbe from "../learn/TimingProbe.ts"
import { TrainerError } from "../learn/TrainerError.ts"
import * as ProcessLoad from "./ProcessLoad.ts"
import * as RunFolder from "./RunFolder.ts"
import * as StepClock from "./StepClock.ts"
import type { StepMetrics } from "./StepMetrics.ts"
import * as StopOn from "./StopOn.ts"
import * as StepTrace from "./StepTrace.ts"
import * as TrainerSettings from "./TrainerSettings.ts"
import * as TrainerValues from "./TrainerValues.ts"
import * as TrainingStep from "./TrainingStep.ts"

export { OnPart } from "./StepClock.ts"

export interface Options extends TrainerValues.TrainerValues {
  readonly settings: TrainerSettings.TrainerSettings
  /** Initial weights for a warm start; default: the engine's model. */
  readonly initial?: Kept | undefined
  /**
   * Health recorder shared with environments of this process, for `stop_on`; default: the trainer's own metrics only.
   */
  readonly health?: Health.Recorder | undefined
}

export type Hooks = Partial<TrainingStep.Hooks>

export interface Trainer {
  readonly advantages: ScoreAdvantage.Recipe
  /** Batches consumed so far, also after a resume. */
  readonly step: Effect.Effect<number>
  /** Step that the service is expected to give the next batch; none before the first. */
  readonly nextBatchStep: Effect.Effect<Option.Option<number>>
  readonly isSettled: (batch: { readonly id: string; readonly step: number }) => boolean
  /** Number of steps that changed the weights. */
  readonly policyVersion: Effect.Effect<number>
  /** Publishes the current weights to the samplers, unless they already have them. */
  readonly publish: Effect.Effect<void, TrainerError>
  /** Measures the seconds that the gradient of synthetic sequences takes; changes no state. */
  readonly measure: (rehearsed: TimingProbe.Probe) => Effect.Effect<number, TrainerError>
  /**
   * Metrics of one step per batch, until `training_steps` are done or the batches end. Publishes the weights first. Run
   * one such stream at a time.
   */
  readonly steps: <E, R>(
    batches: Stream.Stream<Batch.Batch, E, R>,
    hooks?: Hooks
  ) => Stream.Stream<StepMetrics, TrainerError | E, R>
  /**
   * Returns to the last checkpoint, with weights that the engine restores from it, after it lost its weights
   * (`engineLost`). Batches trained on since must be redelivered.
   */
  readonly reopen: Effect.Effect<void, TrainerError>
}

const wrong = (message: string, cause?: unknown) => new TrainerError({ reason: "settings", message, cause })

export const make = Effect.fn("Trainer.make")(function* (
  options: Options
): Effect.fn.Return<Trainer, TrainerError, LearnerEngine | FileSystem.FileSystem | Path.Path | Scope.Scope> {
  const { health, initial, settings } = options
  const { trainer } = settings
  const contradiction =
    TrainerSettings.problem(trainer) ?? (health === undefined ? StopOn.problem(trainer.stopOn) : undefined)
  if (contradiction !== undefined) return yield* wrong(contradiction)
  const resolving = TrainerValues.resolve(settings, options)
  if (Result.isFailure(resolving)) return yield* wrong(resolving.failure.message, resolving.failure)
  const resolved = resolving.success
  const { objective, optimizer } = resolved
  const engine = yield* LearnerEngine
  const { model } = engine
  if (trainer.seqLen > model.maxPositions) {
    return yield* wrong(
      `seq_len ${trainer.seqLen} exceeds the ${model.maxPositions} positions of ${model.name}: ` +
        `set seq_len to ${model.maxPositions} or less`
    )
  }
  const folder = yield* RunFolder.open({
    engine,
    settings,
    written: { ...TrainerSettings.encode(settings), ...TrainerValues.encode(options) },
    loading: {
      objective,
      optimizer,
      maxLength: trainer.seqLen,
      routerReplay: trainer.routerReplay,
      ...(trainer.tokenBudget !== null && { tokenBudget: trainer.tokenBudget }),
      ...(trainer.remat !== "auto" && { remat: trainer.remat === "none" ? false : trainer.remat }),
      ...(trainer.memory !== null && { memory: trainer.memory * 2 ** 30 }),
      initial
    }
  })

  const load = yield* ProcessLoad.make

  /** Opens a learner in its own scope, so that another can replace it. */
  const open = Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const own = yield* Scope.make()
      const resumed = yield* restore(Scope.provide(folder.resume, own)).pipe(
        Effect.onError((cause) => Scope.close(own, Exit.failCause(cause)))
      )
      const step = TrainingStep.make({ model, settings: trainer, resolved, resumed, reject: folder.reject, load })
      return { ...resumed, step, close: Scope.close(own, Exit.void), isPublished: false }
    })
  )
  const stop = StopOn.make(trainer.stopOn, health)
  let opened = yield* open
  yield* Effect.addFinalizer(() => opened.close)

  const publish = Effect.suspend(() => {
    const now = opened
    if (now.isPublished) return Effect.void
    return Effect.tap(now.learner.publish(now.progress.policyVersion), () =>
      Effect.sync(() => void (now.isPublished = true))
    )
  })

  return {
    advantages: TrainerValues.recipe(resolved),
    step: Effect.sync(() => opened.progress.step),
    nextBatchStep: Effect.sync(() => Option.fromNullishOr(opened.progress.nextBatchStep)),
    isSettled: (batch) => opened.progress.isSettled(batch),
    policyVersion: Effect.sync(() => opened.progress.policyVersion),
    publish,
    measure: (rehearsed) => Effect.suspend(() => TimingProbe.measure(opened.learner, model.vocabSize, rehearsed)),
    steps: (batches, hooks) =>
      Stream.suspend(() =>
        opened.progress.step >= trainer.trainingSteps
          ? Stream.empty
          : stepsOf({ ...opened, publish, trainingSteps: trainer.trainingSteps, stop }, batches, hooks)
      ),
    reopen: Effect.gen(function* () {
      yield* opened.close
      opened = yield* open
    })
  }
})

interface Parts extends Pick<RunFolder.Resumed, "isUnsaved" | "progress" | "save"> {
  readonly step: TrainingStep.TrainingStep
  readonly publish: Effect.Effect<void, TrainerError>
  readonly trainingSteps: number
  readonly stop: StopOn.StopOn
}

/** Takes a step for each new batch; batches that were already trained on are settled, or wait for their checkpoint. */
const stepsOf = <E, R>(
  { isUnsaved, progress, publish, save: saveNow, step, stop, trainingSteps }: Parts,
  batches: Stream.Stream<Batch.Batch, E, R>,
  hooks: Hooks = {}
): Stream.Stream<StepMetrics, TrainerError | E, R> => {
  const { flush = Effect.void, published = () => Effect.void, record = () => Effect.void } = hooks
  const { recordLogprobs, settle = () => Effect.void } = hooks
  const stepHooks: TrainingStep.Hooks = { flush, published, record, settle, ...(recordLogprobs && { recordLogprobs }) }
  const save = Effect.suspend(() => (isUnsaved() ? saveNow(settle, flush) : Effect.void))
  return Stream.unwrap(
    Effect.gen(function* () {
      yield* publish
      let since = yield* Clock.currentTimeNanos
      const take = Effect.fnUntraced(function* (batch: Batch.Batch) {
        const arrival = yield* Clock.currentTimeNanos
        const seen = progress.recognise(batch)
        if (seen === "settled") yield* settle([batch])
        if (seen === "unsettled") yield* published(batch, progress.policyVersion)
        if (seen !== "new") {
          since = yield* Clock.currentTimeNanos
          return []
        }
        const clock = StepClock.make(arrival)
        const waitSeconds = Number(arrival - since) / 1e9
        const metrics = yield* StepTrace.around(
          { batch, since, arrival, end: clock.end },
          step(batch, { waitSeconds, clock }, stepHooks)
        )
        since = clock.end()
        return [metrics]
      })
      return batches.pipe(
        Stream.mapEffect(take),
        Stream.flattenIterable,
        Stream.takeUntil((metrics) => stop.see(metrics) || metrics.step >= trainingSteps),
        // The batches ended early.
        Stream.concat(Stream.drain(Stream.fromEffect(save))),
        Stream.concat(Stream.drain(Stream.fromEffect(stop.end))),
        Stream.onExit((exit) =>
          Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)
            ? Effect.catchTag(save, "TrainerError", ({ message }) =>
                Effect.logError("final checkpoint failed", { message })
              )
            : Effect.void
        )
      )
    })
  )
}
