/**
 * How far training has come, for environments whose limits grow with it.
 *
 * What runs inside a training rollout finds the trainer's step in its context, as far as it is known there. Where
 * nothing is trained (`process`, evaluations, tests) there is none.
 */
import { Context, Effect } from "effect"

export interface TrainingProgress {
  /** Steps that the trainer has made. */
  readonly step: number
  /** Steps after which the run ends; infinite where it has no end. */
  readonly totalSteps: number
}

export const TrainingProgress = Context.Reference<TrainingProgress | undefined>("@atropos/core/TrainingProgress", {
  defaultValue: () => undefined
})

/** Runs a rollout of a training run that has come this far. */
export const at =
  (progress: TrainingProgress) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.provideService(effect, TrainingProgress, progress)

/**
 * A whole number that grows evenly from `start` at the first step to `end` at the last; `end` where nothing is trained,
 * `start` where training has no end.
 */
export const grown = (progress: TrainingProgress | undefined, start: number, end: number): number => {
  if (progress === undefined) return end
  const { step, totalSteps } = progress
  const share = totalSteps > 0 ? Math.min(1, Math.max(0, step / totalSteps)) : 1
  return start + Math.trunc((end - start) * share)
}
