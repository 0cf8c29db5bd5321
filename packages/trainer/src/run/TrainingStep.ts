/**
 * One step of training: a batch is prepared, its gradient computed, the weights updated, handed on and, when that is
 * due, saved.
 *
 * The update and the account of it are one: an interruption comes before both or after both, and what it cuts off after
 * the update is recorded all the same. A failure is not: the step is done again by whoever resumes. A loss or gradient
 * that is not a number leaves the weights alone and consumes the batch; `max_non_finite` such steps in a row fail. An
 * update that leaves weights that nothing can be computed from fails at once, and nothing of it is published or saved.
 */
import type { Batch } from "@atropos/core"
import { Cause, Effect, Exit } from "effect"
import type { Computed, LearnerEngineShape } from "../learn/LearnerEngine.ts"
import * as Mismatch from "../learn/Mismatch.ts"
import * as Schedule from "../learn/Schedule.ts"
import { TrainerError } from "../learn/TrainerError.ts"
import type { Objective } from "../loss/Objective.ts"
import * as BatchPreparation from "./BatchPreparation.ts"
import * as GroupOrder from "./GroupOrder.ts"
import type { Resumed, RunFolder, Settle } from "./RunFolder.ts"
import * as SamplerCheck from "./SamplerCheck.ts"
import type { StepClock } from "./StepClock.ts"
import * as StepFigures from "./StepFigures.ts"
import type { StepMetrics } from "./StepMetrics.ts"
import * as TrainerSettings from "./TrainerSettings.ts"

export interface Options {
  readonly model: LearnerEngineShape["model"]
  readonly settings: TrainerSettings.TrainerFields
  readonly objective: Objective
  readonly resumed: Resumed
  readonly reject: RunFolder["reject"]
}

export interface Hooks {
  /** Is called with batches that are in a durable checkpoint. */
  readonly settle: Settle
  /** Is called with every step that was taken, before the stream has it. */
  readonly record: (metrics: StepMetrics) => Effect.Effect<void>
}

export type TrainingStep = (
  batch: Batch.Batch,
  times: { readonly waitSeconds: number; readonly clock: StepClock },
  hooks: Hooks
) => Effect.Effect<StepMetrics, TrainerError>

/** What a step did to the weights; after it there is no way back. */
interface Update extends Pick<StepFigures.Parts, "compared" | "computed" | "gradNorm" | "skipped"> {
  readonly computeSeconds: number
  readonly updateSeconds: number
}

/** Of a batch that nothing can be learned from. */
const nothing: Computed = { loss: 0, figures: new Map(), isFinite: true, pieces: 0, positions: 0 }

export const make = ({ model, objective, reject, resumed, settings }: Options): TrainingStep => {
  const { learner, progress, save } = resumed
  const sampler = SamplerCheck.make(settings, objective)
  const prepare = BatchPreparation.make({ model, settings, objective })

  /** Computes the gradient and makes the update; `onUpdate` is called with it at once, whatever interrupts. */
  const learn = Effect.fnUntraced(function* (
    batch: Batch.Batch,
    { batch: weighted }: BatchPreparation.Prepared,
    lr: number,
    clock: StepClock,
    onUpdate: (update: Update) => void
  ) {
    const isEmpty = weighted.items.length === 0
    const meter = objective.isPolicyGradient ? Mismatch.meter(weighted, progress.policyVersion) : undefined
    const [computeSeconds, computed] = yield* clock.part(
      "compute",
      isEmpty ? Effect.succeed(nothing) : learner.forwardBackward(weighted, meter?.add)
    )
    const compared = meter?.sum() ?? Mismatch.nothing
    if (meter !== undefined) yield* sampler.judge(batch, meter.byEnvironment())
    return yield* Effect.gen(function* () {
      const [updateSeconds, { isApplied, norm }] = yield* clock.part(
        "update",
        computed.isFinite && !isEmpty
          ? Effect.mapError(learner.optimizerStep(lr), explain(progress.step + 1))
          : Effect.as(isEmpty ? Effect.void : learner.discard, { norm: isEmpty ? 0 : Number.NaN, isApplied: false })
      )
      const skipped = isApplied ? null : isEmpty ? "nothingToTrain" : "nonFinite"
      progress.consume(batch, skipped)
      const update: Update = { compared, computeSeconds, computed, skipped, updateSeconds, gradNorm: norm }
      onUpdate(update)
      return update
    }).pipe(Effect.uninterruptible)
  })

  const skip = Effect.fnUntraced(function* (batch: Batch.Batch, { computed, gradNorm }: Update) {
    const { nonFiniteInARow, step } = progress
    yield* Effect.logWarning("step skipped: loss or gradient is not a number", {
      step,
      batch: batch.id,
      loss: computed.loss,
      gradNorm
    })
    if (nonFiniteInARow < settings.maxNonFinite) return
    const path = yield* reject(step, batch)
    return yield* new TrainerError({
      reason: "nonFinite",
      message:
        `loss or gradient was not a number in ${nonFiniteInARow} steps in a row, the last one ${step}; ` +
        `its batch (${batch.id}) is in ${path}. Lower lr, or raise max_non_finite; the run resumes from its last checkpoint`
    })
  })

  const isSaveDue = (): boolean => {
    const { checkpointInterval, trainingSteps } = settings
    return progress.step >= trainingSteps || (checkpointInterval > 0 && progress.step % checkpointInterval === 0)
  }

  return Effect.fnUntraced(function* (claimed, { clock, waitSeconds }, { record, settle }) {
    const batch = { ...claimed, groups: GroupOrder.canonical(claimed.groups) }
    const lr = Schedule.learningRate(TrainerSettings.scheduleOf(settings), progress.step)
    const [prepareSeconds, prepared] = yield* clock.part(
      "prepare",
      Effect.sync(() => prepare(batch.groups, progress.policyVersion))
    )
    const { counts, report, staleness } = prepared
    yield* sampler.warnUnknown(counts.unknownLogprobs)
    const seconds = { wait: waitSeconds, prepare: prepareSeconds, publish: 0, save: 0 }
    const figuresOf = ({ computeSeconds, updateSeconds, ...update }: Update): StepMetrics =>
      StepFigures.of({
        batch,
        progress,
        lr,
        counts,
        report,
        staleness,
        ...update,
        seconds: { ...seconds, compute: computeSeconds, update: updateSeconds }
      })
    let done: Update | undefined
    return yield* Effect.gen(function* () {
      const update = yield* learn(batch, prepared, lr, clock, (update) => (done = update))
      if (update.skipped === "nonFinite") yield* skip(batch, update)
      if (update.skipped === null)
        [seconds.publish] = yield* clock.part("publish", learner.publish(progress.policyVersion))
      if (isSaveDue()) [seconds.save] = yield* clock.part("save", save(settle))
      return figuresOf(update)
    }).pipe(
      // What fails is done again; what is interrupted is in the checkpoint that is saved then.
      Effect.onExit((exit) =>
        done !== undefined && (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause))
          ? record(Exit.isSuccess(exit) ? exit.value : figuresOf(done))
          : Effect.void
      )
    )
  })
}

/** Where the weights do not survive an update: which step that was, and what to do. */
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
