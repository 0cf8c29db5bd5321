/**
 * Runs one training step: prepares a batch, computes its gradient, updates the weights (`BatchUpdates`), publishes them
 * and, if due, saves a checkpoint.
 *
 * The updates and their bookkeeping are atomic under interruption: a step interrupted after them is still recorded. A
 * failed step is not recorded, and is repeated on resume. For NaN, infinite loss and unusable weights see `Trainer`.
 */
import type { Batch, PackedLogprobs, ScoredGroup } from "@atropos/core"
import * as Reason from "@atropos/core/base/Reason"
import { Cause, Clock, Effect, Exit } from "effect"
import type { LearnerEngineShape, LogprobCallback } from "../learn/LearnerEngine.ts"
import * as LogprobSample from "../learn/LogprobSample.ts"
import * as Mismatch from "../learn/Mismatch.ts"
import { TrainerError } from "../learn/TrainerError.ts"
import * as BatchUpdates from "./BatchUpdates.ts"
import * as GroupOrder from "./GroupOrder.ts"
import type { Resumed, RunFolder, Settle } from "./RunFolder.ts"
import * as MismatchGuard from "./MismatchGuard.ts"
import type { StepClock } from "./StepClock.ts"
import type { ProcessLoad } from "./ProcessLoad.ts"
import * as StepFigures from "./StepFigures.ts"
import type { StepMetrics } from "./StepMetrics.ts"
import type * as TrainerSettings from "./TrainerSettings.ts"
import type { TrainerFields } from "./TrainerSettings.ts"
import type { Resolved } from "./TrainerValues.ts"
import type { Rule } from "../learn/Advantages.ts"
import * as Staleness from "../learn/Staleness.ts"
import * as TrainingSequence from "../learn/TrainingSequence.ts"
import * as WeightedBatch from "../learn/WeightedBatch.ts"
import type { Objective } from "../loss/Objective.ts"

/**
 * Turns the groups of a batch into training data: applies the staleness rule and temperatures, computes advantages, and
 * selects trainable sequences.
 */
interface PreparationOptions {
  readonly model: Pick<LearnerEngineShape["model"], "vocabSize">
  readonly settings: TrainerFields
  readonly objective: Objective
  /** Default: the objective's rule. */
  readonly advantages?: Rule
}

interface PreparedBatch extends WeightedBatch.Chosen {
  readonly counts: TrainingSequence.SequenceCounts
  readonly staleness: Staleness.Figures
}

export const makePreparation =
  ({ advantages, model, objective, settings }: PreparationOptions) =>
  (groups: ReadonlyArray<ScoredGroup.ScoredGroup>, policyVersion: number): PreparedBatch => {
    const { maxStaleness, onStale, seqLen, temperature, tooLong } = settings
    const { figures, groups: fresh } = Staleness.apply(groups, policyVersion, {
      maxStaleness,
      // `wait` keeps environments from producing stale groups; any that still arrive (another run's, a slow rollout)
      // are dropped.
      action: onStale === "mask" ? "mask" : "drop",
      isAbsolute: objective.baseline === "none" || objective.baseline === "batch" || !objective.isPolicyGradient,
      isUnknownStale: objective.isPolicyGradient
    })
    const { counts, sequences } = TrainingSequence.ofGroups(fresh, objective, temperature, advantages ?? objective)
    const selected = WeightedBatch.choose(sequences, objective, {
      maxLength: seqLen,
      tooLong,
      vocabSize: model.vocabSize,
      skipZeroAdvantage: objective.isAdvantageOnly
    })
    return { ...selected, counts, staleness: figures }
  }

export interface Options {
  readonly model: LearnerEngineShape["model"]
  readonly settings: TrainerSettings.TrainerFields
  readonly resolved: Resolved
  readonly resumed: Resumed
  readonly reject: RunFolder["reject"]
  readonly load: ProcessLoad
}

export interface Hooks {
  readonly settle: Settle
  /** Called with a batch once the samplers have the weights trained on it, before a checkpoint contains them. */
  readonly published: (batch: Batch.Batch, policyVersion: number) => Effect.Effect<void>
  /** Called with every step, before the stream emits it and before a checkpoint that contains it counts. */
  readonly record: (metrics: StepMetrics) => Effect.Effect<void>
  readonly flush: Effect.Effect<void>
  /** Called with the logprobs computed for a step's sequences, as configured by `record_logprobs`. */
  readonly recordLogprobs?: (batch: Batch.Batch, record: PackedLogprobs.RecordedLogprobs) => Effect.Effect<void>
}

export type TrainingStep = (
  batch: Batch.Batch,
  times: { readonly waitSeconds: number; readonly clock: StepClock },
  hooks: Hooks
) => Effect.Effect<StepMetrics, TrainerError>

/** Result of a step's updates. Cannot be rolled back. */
interface Update extends BatchUpdates.Made {
  readonly logprobs: PackedLogprobs.RecordedLogprobs | undefined
  readonly compared: Mismatch.Compared
  /** Max difference between trainer and sampler, nats. */
  readonly allowed: number
  readonly skipped: StepMetrics["skipped"]
}

export const make = ({ load, model, reject, resolved, resumed, settings }: Options): TrainingStep => {
  const { objective, rate } = resolved
  const { learner, progress, save } = resumed
  const sampler = MismatchGuard.make(settings, objective, model)
  const prepare = makePreparation({ model, settings, ...resolved })
  const updating = BatchUpdates.make(learner, settings.updatesPerBatch)

  /** Computes the gradient and makes the updates; calls `onUpdate` with them immediately, even if interrupted. */
  const learn = Effect.fnUntraced(function* (
    batch: Batch.Batch,
    claimed: Batch.Batch | undefined,
    { batch: weighted }: PreparedBatch,
    lr: number,
    clock: StepClock,
    onUpdate: (update: Update) => void
  ) {
    const meter = objective.isPolicyGradient ? Mismatch.meter(weighted, progress.policyVersion) : undefined
    const sample =
      meter === undefined || claimed === undefined || settings.recordLogprobs === 0
        ? undefined
        : LogprobSample.make(claimed.groups, weighted, settings.recordLogprobs)
    const look: LogprobCallback | undefined =
      meter && ((item, logprobs) => (meter.add(item, logprobs), sample?.add(item, logprobs)))
    const { policyVersion } = progress
    const first = yield* updating.first(weighted, clock, look)
    const compared = meter?.sum() ?? Mismatch.nothing
    const allowed = yield* sampler.judge(batch, meter?.byEnvironment() ?? new Map())
    return yield* Effect.gen(function* () {
      const made = yield* Effect.mapError(updating.rest(weighted, first, lr, clock), explain(progress.step + 1))
      const skipped = made.updates > 0 ? null : weighted.items.length === 0 ? "nothingToTrain" : "nonFinite"
      progress.consume(batch, skipped, made.isFinite)
      const logprobs = sample && { leaseToken: batch.leaseToken, policyVersion, rows: sample.rows() }
      const update: Update = { ...made, allowed, compared, skipped, logprobs }
      onUpdate(update)
      return update
    }).pipe(Effect.uninterruptible)
  })

  const tellNonFinite = telling({ progress, reject, settings })

  const isSaveDue = (): boolean => {
    const { checkpointInterval, trainingSteps } = settings
    return progress.step >= trainingSteps || (checkpointInterval > 0 && progress.step % checkpointInterval === 0)
  }

  return Effect.fnUntraced(function* (claimed, { clock, waitSeconds }, hooks) {
    const { flush, published, record, recordLogprobs, settle } = hooks
    const batch = { ...claimed, groups: GroupOrder.canonical(claimed.groups) }
    const lr = rate(progress.step)
    if (!(Number.isFinite(lr) && lr >= 0)) {
      return yield* new TrainerError({
        reason: "settings",
        message: `the schedule returned the learning rate ${lr} for step ${progress.step + 1}: it must be finite and not negative`
      })
    }
    yield* sampler.checkTokenizer(batch)
    const [prepareSeconds, prepared] = yield* clock.part(
      "prepare",
      Effect.try({
        try: () => prepare(batch.groups, progress.policyVersion),
        // A custom advantage function may throw.
        catch: (cause) => new TrainerError({ reason: "settings", message: `advantages: ${Reason.of(cause)}`, cause })
      })
    )
    const { counts, report, staleness } = prepared
    yield* sampler.warnUnknown(counts.unknownLogprobs)
    const seconds = { wait: waitSeconds, prepare: prepareSeconds, publish: 0, save: 0 }
    const figuresOf = ({ computeSeconds, norm: gradNorm, updateSeconds, ...update }: Update): StepMetrics =>
      StepFigures.of({
        batch,
        progress,
        lr,
        counts,
        report,
        staleness,
        gradNorm,
        ...update,
        load: load(),
        seconds: { ...seconds, compute: computeSeconds, update: updateSeconds }
      })
    let done: Update | undefined
    let figures: StepMetrics | undefined
    let isRecorded = false
    // Once a step: the load is that since the previous call.
    const figuresOnce = (update: Update): StepMetrics => (figures ??= figuresOf(update))
    const notify = Effect.suspend(() => {
      if (done === undefined || isRecorded) return Effect.void
      isRecorded = true
      return record(figuresOnce(done))
    })
    return yield* Effect.gen(function* () {
      const update = yield* learn(batch, recordLogprobs && claimed, prepared, lr, clock, (update) => (done = update))
      if (!update.isFinite) yield* tellNonFinite(batch, update)
      if (update.skipped === null)
        [seconds.publish] = yield* clock.part("publish", learner.publish(progress.policyVersion))
      yield* published(claimed, progress.policyVersion)
      if (isSaveDue()) {
        const since = clock.end()
        const counting = Effect.andThen(
          Effect.map(Clock.currentTimeNanos, (now) => void (seconds.save = Number(now - since) / 1e9)),
          Effect.andThen(notify, flush)
        )
        yield* clock.part("save", save(settle, counting))
      }
      return figuresOnce(update)
    }).pipe(
      // A failed step is repeated; an interrupted one is in the checkpoint that is saved then.
      Effect.onExit((exit) =>
        done !== undefined && (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause))
          ? Effect.andThen(
              notify,
              done.logprobs && recordLogprobs ? recordLogprobs(claimed, done.logprobs) : Effect.void
            )
          : Effect.void
      )
    )
  })
}

/** Logs a step with a NaN or infinite loss or gradient; fails after too many in a row. */
const telling = ({ progress, reject, settings }: Pick<Options, "reject" | "settings"> & Pick<Resumed, "progress">) =>
  Effect.fnUntraced(function* (batch: Batch.Batch, { computed, norm, updates }: Update) {
    const { nonFiniteInARow, step } = progress
    yield* Effect.logWarning(
      updates === 0
        ? "skipped step: loss or gradient is NaN or infinite"
        : "skipped remaining updates: loss or gradient is NaN or infinite",
      { step, batch: batch.id, loss: computed.loss, gradNorm: norm, updates }
    )
    if (nonFiniteInARow < settings.maxNonFinite) return
    const path = yield* reject(step, batch)
    return yield* new TrainerError({
      reason: "nonFinite",
      message:
        `loss or gradient was NaN or infinite in ${nonFiniteInARow} consecutive steps, the last one ${step}; ` +
        `its batch (${batch.id}) is in ${path}. Lower lr, or raise max_non_finite; the run resumes from its last checkpoint`
    })
  })

/** Adds the step and the fix to the error of weights that became unusable in an update. */
const explain = (step: number) => (error: TrainerError) =>
  error.reason === "nonFinite"
    ? new TrainerError({
        reason: "nonFinite",
        message:
          `step ${step}: ${error.message}. Nothing of this step was saved or published. Lower lr, the likeliest cause, ` +
          `or max_grad_norm; the run resumes from its last checkpoint, if it has one`,
        cause: error
      })
    : error
