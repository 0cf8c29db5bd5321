/**
 * Training progress, for environments whose limits grow with it.
 *
 * A training rollout reads the trainer's step from its context, if known. Without a trainer (`process`, evaluations,
 * tests) it is absent.
 */
import { Context, Effect } from "effect"

export interface TrainingProgress {
  readonly step: number
  /** Steps after which the run ends; Infinity if it has no end. */
  readonly totalSteps: number
}

export const TrainingProgress = Context.Reference<TrainingProgress | undefined>("@atropos/core/TrainingProgress", {
  defaultValue: () => undefined
})

/** Runs a training rollout with this progress in its context. */
export const at =
  (progress: TrainingProgress) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.provideService(effect, TrainingProgress, progress)

/**
 * A whole number that grows linearly from `start` at the first step to `end` at the last; `end` without a trainer,
 * `start` if training has no end.
 */
export const grown = (progress: TrainingProgress | undefined, start: number, end: number): number => {
  if (progress === undefined) return end
  const { step, totalSteps } = progress
  const share = totalSteps > 0 ? Math.min(1, Math.max(0, step / totalSteps)) : 1
  return start + Math.trunc((end - start) * share)
}
