/**
 * The trainer: batches in, one step's metrics for each out.
 *
 * `make` gives a value whose `steps` turns any stream of batches into a stream of metrics; `ServiceTraining` feeds it
 * from the trajectory service and acknowledges there. Steps are taken one after the other, as fast as they are pulled.
 *
 * Guarantees
 * - A batch is trained on once. Those in a durable checkpoint, or trained on since, are recognised by id and step and
 *   passed to `settle` instead.
 * - `record` is told of every step that a checkpoint will contain, also of one that an interruption cuts off behind its
 *   update.
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
import { type Batch, FolderLock, type ScoreAdvantage } from "@atropos/core"
import { wireName } from "@atropos/core/EnvironmentSettings"
import { Cause, Clock, Effect, Exit, FileSystem, Option, type Path, Result, type Scope, Stream, Struct } from "effect"
import * as CheckpointError from "../checkpoint/CheckpointError.ts"
import * as Checkpoints from "../checkpoint/Checkpoints.ts"
import * as RejectedBatch from "../checkpoint/RejectedBatch.ts"
import * as Differences from "../checkpoint/Differences.ts"
import type { Handle } from "./Deliveries.ts"
import { Executor } from "../exec/Executor.ts"
import * as BatchPreparation from "./BatchPreparation.ts"
import * as GroupOrder from "./GroupOrder.ts"
import * as TrainerProgress from "./TrainerProgress.ts"
import * as Rehearsal from "../learn/Rehearsal.ts"
import * as SamplerCheck from "./SamplerCheck.ts"
import * as StepClock from "./StepClock.ts"
import * as StepFigures from "./StepFigures.ts"
import * as StepTrace from "./StepTrace.ts"
import * as Learner from "../learn/Learner.ts"
import * as Preset from "../loss/Preset.ts"
import * as MemoryPlan from "../learn/MemoryPlan.ts"
import * as Mismatch from "../learn/Mismatch.ts"
import * as OptimizerThread from "../learn/OptimizerThread.ts"
import * as Schedule from "../learn/Schedule.ts"
import type { StepMetrics } from "./StepMetrics.ts"
import type { TrainableModel } from "../model/TrainableModel.ts"
import { TrainerError } from "../learn/TrainerError.ts"
import * as TrainerSettings from "./TrainerSettings.ts"
import * as TrainGraph from "../learn/TrainGraph.ts"

/** Weights that samplers should use from now on. */
export interface Weights {
  /** Updates behind them. */
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

export interface Hooks {
  /** Told of batches that are in a durable checkpoint. */
  readonly settle?: (batches: ReadonlyArray<Handle>) => Effect.Effect<void>
  /** Told of every step that was taken, before the stream is. */
  readonly record?: (metrics: StepMetrics) => Effect.Effect<void>
}

export interface Trainer {
  /** How scores become advantages here, for those who look on. */
  readonly advantages: ScoreAdvantage.Recipe
  /** Batches consumed so far: where a resumed run begins. */
  readonly step: Effect.Effect<number>
  /** Step the service is expected to give the next batch; none before the first. */
  readonly nextBatchStep: Effect.Effect<Option.Option<number>>
  /** Whether a durable checkpoint holds this batch. */
  readonly isSettled: (batch: { readonly id: string; readonly step: number }) => boolean
  /** Updates behind the present weights. */
  readonly policyVersion: Effect.Effect<number>
  /** A copy of the present weights. */
  readonly parameters: Effect.Effect<Float32Array, TrainerError>
  /** Seconds that the gradient of one made-up sequence of so many tokens takes; changes nothing. */
  readonly measure: (tokens: number) => Effect.Effect<number, TrainerError>
  /** Metrics of a step per batch, until `training_steps` are done or the batches end. Run one such stream at a time. */
  readonly steps: <E, R>(
    batches: Stream.Stream<Batch.Batch, E, R>,
    hooks?: Hooks
  ) => Stream.Stream<StepMetrics, TrainerError | E, R>
}

const wrong = (message: string, cause?: unknown) => new TrainerError({ reason: "settings", message, cause })

/** The folder of checkpoints, for this trainer alone until the scope closes. */
const claimFolder = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  yield* Effect.mapError(fs.makeDirectory(folder, { recursive: true }), CheckpointError.at(folder)).pipe(
    Effect.mapError(unsaved)
  )
  yield* Effect.mapError(FolderLock.hold(folder), (cause) =>
    cause.isHeld ? wrong(`${cause.message}: stop that trainer, or choose another save_path`, cause) : unsaved(cause)
  )
})

const unsaved = (cause: { readonly message: string }) =>
  new TrainerError({ reason: "checkpoint", message: cause.message, cause })

/** A step's update, behind which there is no way back. */
interface Learned extends Pick<StepFigures.Parts, "compared" | "computed" | "gradNorm" | "skipped"> {
  readonly computeSeconds: number
  readonly updateSeconds: number
}

export const make = Effect.fn("Trainer.make")(function* (
  options: Options
): Effect.fn.Return<Trainer, TrainerError, Executor | FileSystem.FileSystem | Path.Path | Scope.Scope> {
  const { model, settings } = options
  const { trainer } = settings
  const { layout } = model.policy
  const files = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  const resolved = Preset.resolve(settings.loss)
  if (Result.isFailure(resolved)) return yield* wrong(resolved.failure.message, resolved.failure)
  const objective = resolved.success
  const { device } = yield* Executor
  const tokens = Math.max(trainer.tokenBudget, trainer.seqLen)
  const plan = model.shape && MemoryPlan.choose({ shape: model.shape, tokens, rowLength: trainer.seqLen }, device.kind)
  const { prepack = false, ...planned } = plan ?? {}
  const graph = { ...TrainGraph.defaults, ...planned, ...options.graph }
  if (trainer.seqLen > model.maxPositions) {
    return yield* wrong(
      `seq_len ${trainer.seqLen} is more than the ${model.maxPositions} positions of ${model.name}: ` +
        `set seq_len to ${model.maxPositions} or less`
    )
  }
  yield* claimFolder(trainer.savePath)

  const found = yield* Effect.mapError(Checkpoints.newest(trainer.savePath, layout), unsaved)
  for (const one of found.ignored) yield* Effect.logWarning("checkpoint ignored", one)
  const resumed = Option.getOrUndefined(found.newest)
  if (resumed !== undefined && resumed.state.model !== model.name) {
    return yield* wrong(
      `${resumed.folder} is a checkpoint of ${resumed.state.model}, not of ${model.name}: use another save_path, or that model`
    )
  }
  if (resumed !== undefined) {
    yield* Effect.logInfo("resuming", { folder: resumed.folder, step: resumed.state.step })
    const ofRunning = TrainerSettings.ofRunning.map(wireName)
    const differences = Differences.between(
      Struct.omit(resumed.state.settings, ofRunning),
      Struct.omit(TrainerSettings.encode(settings), ofRunning)
    )
    if (differences.length > 0) yield* Effect.logWarning("settings differ from the checkpoint's", { differences })
  }
  const progress = TrainerProgress.make(resumed?.state)
  let savedStep = progress.step

  const learner = yield* Learner.make({
    policy: model.policy,
    objective,
    graph,
    prepack,
    snapshot: resumed?.snapshot ?? OptimizerThread.fresh(model.initial),
    reference: (current) => TrainGraph.withoutAdapter(layout, current) ?? model.initial.slice(),
    optimizer: {
      beta1: trainer.adamBeta1,
      beta2: trainer.adamBeta2,
      epsilon: trainer.adamEpsilon,
      weightDecay: trainer.weightDecay,
      maxNorm: trainer.maxGradNorm
    }
  })

  const publish = Effect.fnUntraced(function* () {
    if (options.publish === undefined) return
    const weights = { version: progress.policyVersion, parameters: yield* learner.parameters }
    yield* Effect.mapError(
      options.publish(weights),
      (cause) => new TrainerError({ reason: "publish", message: `weights not handed on: ${cause.message}`, cause })
    )
  })

  const save = Effect.fnUntraced(function* () {
    const snapshot = yield* learner.snapshot
    const state = progress.state({
      model: model.name,
      seed: trainer.seed,
      settings: TrainerSettings.encode(settings)
    })
    const folder = yield* Checkpoints.save(
      { folder: trainer.savePath, keep: trainer.keepCheckpoints, layout, writeWeights: model.writeWeights },
      state,
      snapshot
    ).pipe(Effect.mapError(unsaved), Effect.provide(files))
    savedStep = state.step
    yield* Effect.logDebug("checkpoint saved", { folder })
  })

  /** Saves, then settles what is in it. */
  const saveAndSettle = Effect.fnUntraced(function* (settle: (batches: ReadonlyArray<Handle>) => Effect.Effect<void>) {
    yield* save()
    yield* settle(progress.takeUnsettled())
  }, Effect.uninterruptible)

  const stop = Effect.fnUntraced(function* (batch: Batch.Batch) {
    const path = yield* Effect.mapError(RejectedBatch.write(trainer.savePath, progress.step, batch), unsaved)
    return yield* new TrainerError({
      reason: "nonFinite",
      message:
        `loss or gradient was not a number in ${progress.nonFiniteInARow} steps in a row, the last one ${progress.step}; ` +
        `its batch (${batch.id}) is in ${path}. Lower lr, or raise max_non_finite; the run resumes from its last checkpoint`
    })
  }, Effect.provide(files))

  /**
   * The update of the next step; where the weights do not survive it, the failure says which step that was, and what to
   * do.
   */
  const updateBy = (lr: number) =>
    Effect.mapError(learner.update(lr), (error) =>
      error.reason === "nonFinite"
        ? new TrainerError({
            reason: "nonFinite",
            message:
              `step ${progress.step + 1}: ${error.message}. Nothing of this step was saved or published. Lower lr, the likeliest cause, ` +
              `or max_grad_norm; the run resumes from its last checkpoint, if it has one`,
            cause: error
          })
        : error
    )

  const sampler = SamplerCheck.make(trainer, objective)
  const prepare = BatchPreparation.make({ model, settings: trainer, objective, multiple: graph.chunks })

  /** Computes and updates; the update and the account of it, to `told` as well, are one, whatever interrupts. */
  const learn = Effect.fnUntraced(function* (
    batch: Batch.Batch,
    { packed, sequences }: BatchPreparation.Prepared,
    lr: number,
    clock: StepClock.StepClock,
    told: (learned: Learned) => void
  ) {
    const isEmpty = packed.microBatches.length === 0
    const meter = objective.isPolicyGradient ? Mismatch.meter(sequences, progress.policyVersion) : undefined
    const [computeSeconds, computed] = yield* clock.part("compute", learner.compute(packed, meter?.add))
    const compared = meter?.sum() ?? Mismatch.nothing
    if (meter !== undefined) yield* sampler.judge(batch, meter.byEnvironment())
    return yield* Effect.gen(function* () {
      const [updateSeconds, updated] = yield* clock.part(
        "update",
        computed.isFinite && !isEmpty
          ? updateBy(lr)
          : Effect.as(learner.discard, { norm: isEmpty ? 0 : Number.NaN, isApplied: false })
      )
      const skipped = updated.isApplied ? null : isEmpty ? "nothingToTrain" : "nonFinite"
      progress.consume(batch, skipped)
      const learned: Learned = { compared, computeSeconds, computed, skipped, updateSeconds, gradNorm: updated.norm }
      told(learned)
      return learned
    }).pipe(Effect.uninterruptible)
  })

  const train = Effect.fnUntraced(function* (
    given: Batch.Batch,
    waitSeconds: number,
    clock: StepClock.StepClock,
    { record, settle }: Required<Hooks>
  ) {
    const batch = { ...given, groups: GroupOrder.canonical(given.groups) }
    const lr = Schedule.learningRate(TrainerSettings.scheduleOf(trainer), progress.step)
    const [prepareSeconds, prepared] = yield* clock.part(
      "prepare",
      Effect.sync(() => prepare(batch.groups, progress.policyVersion))
    )
    const { counts, packed, staleness } = prepared
    yield* sampler.tellUnknown(counts.unknownLogprobs)
    const seconds = { wait: waitSeconds, prepare: prepareSeconds, publish: 0, save: 0 }
    const figuresOf = ({ computeSeconds, updateSeconds, ...learned }: Learned): StepMetrics =>
      StepFigures.of({
        batch,
        progress,
        lr,
        counts,
        packed,
        staleness,
        ...learned,
        seconds: { ...seconds, compute: computeSeconds, update: updateSeconds }
      })
    let done: Learned | undefined
    return yield* Effect.gen(function* () {
      const learned = yield* learn(batch, prepared, lr, clock, (told) => (done = told))
      if (learned.skipped === "nonFinite") {
        yield* Effect.logWarning("step skipped: loss or gradient is not a number", {
          step: progress.step,
          batch: batch.id,
          loss: learned.computed.loss,
          gradNorm: learned.gradNorm
        })
        if (progress.nonFiniteInARow >= trainer.maxNonFinite) return yield* stop(batch)
      }
      if (learned.skipped === null) [seconds.publish] = yield* clock.part("publish", publish())
      const { checkpointInterval, trainingSteps } = trainer
      const isDue =
        progress.step >= trainingSteps || (checkpointInterval > 0 && progress.step % checkpointInterval === 0)
      if (isDue) [seconds.save] = yield* clock.part("save", saveAndSettle(settle))
      return figuresOf(learned)
    }).pipe(
      // What fails is done again; what is interrupted is in the checkpoint that is saved then.
      Effect.onExit((exit) =>
        done !== undefined && (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause))
          ? record(Exit.isSuccess(exit) ? exit.value : figuresOf(done))
          : Effect.void
      )
    )
  })

  let isPublished = false
  const steps: Trainer["steps"] = (batches, { record = () => Effect.void, settle = () => Effect.void } = {}) =>
    Stream.unwrap(
      Effect.gen(function* () {
        if (!isPublished) yield* publish()
        isPublished = true
        let since = yield* Clock.currentTimeNanos
        return batches.pipe(
          Stream.mapEffect(
            Effect.fnUntraced(function* (batch: Batch.Batch) {
              const arrival = yield* Clock.currentTimeNanos
              const known = progress.recognise(batch)
              if (known === "settled") yield* settle([batch])
              if (known !== "new") {
                since = yield* Clock.currentTimeNanos
                return []
              }
              const clock = StepClock.make(arrival)
              const waited = Number(arrival - since) / 1e9
              const metrics = yield* StepTrace.around(
                { batch, since, arrival, end: clock.end },
                train(batch, waited, clock, { record, settle })
              )
              since = clock.end()
              return [metrics]
            })
          ),
          Stream.flattenIterable,
          Stream.takeUntil(({ step }) => step >= trainer.trainingSteps),
          Stream.concat(
            // The batches ended early.
            Stream.drain(Stream.fromEffect(Effect.suspend(() => (isUnsaved() ? saveAndSettle(settle) : Effect.void))))
          ),
          Stream.onExit((exit) =>
            Effect.suspend(() =>
              isUnsaved() && (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause))
                ? saveAndSettle(settle).pipe(
                    Effect.catchTag("TrainerError", ({ message }) =>
                      Effect.logError("no checkpoint at the end", { message })
                    )
                  )
                : Effect.void
            )
          )
        )
      })
    )
  const isUnsaved = () => progress.step > savedStep

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
    measure: Rehearsal.make({ learner, objective, vocabSize: model.vocabSize, multiple: graph.chunks }),
    steps: (batches, hooks) => (progress.step >= trainer.trainingSteps ? Stream.empty : steps(batches, hooks))
  }
})
