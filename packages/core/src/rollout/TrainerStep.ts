/**
 * Tracks the trainer's step reported by the service; each new step records the previous one's metrics and may start an
 * evaluation.
 */
import { Deferred, Effect, type Scope } from "effect"
import type { EnvironmentStatus } from "../service/TrajectoryApi.ts"
import type { Evaluations } from "./Evaluations.ts"
import { InferenceShare } from "./InferenceShare.ts"
import type { Permits } from "./Permits.ts"
import type { QueueView } from "./QueueView.ts"
import type { Session } from "./Session.ts"
import * as StatusFollower from "./submit/StatusFollower.ts"
import type { Submitter } from "./submit/Submitter.ts"

/**
 * Decides when to evaluate: at every multiple of `steps_per_eval` that the trainer's step reaches or passes.
 *
 * The original compares remainders (`a mod N > b mod N`), which never fires for N = 1 and misses multiples if the step
 * jumps.
 * True if a multiple of `every` lies in (previous, step]; never if `every` is 0 or less.
 */
export const isEvaluationDue = (previous: number, step: number, every: number): boolean =>
  every > 0 && Math.floor(step / every) > Math.floor(previous / every)

export interface TrainerStep {
  /** As far as known here. */
  readonly now: () => number
  readonly last: Effect.Effect<void>
  readonly follow: Effect.Effect<never>
}

export interface Options {
  readonly queue: Pick<QueueView, "pushed">
  readonly permits: Pick<Permits, "told">
  readonly submitter: Pick<Submitter, "isSending">
  readonly evaluations: Pick<Evaluations, "request">
  readonly record: (step: number) => Effect.Effect<void>
  readonly onChange: () => void
}

/** Metrics are recorded in fibers of the scope. */
export const make = Effect.fnUntraced(function* (
  { client, connection, firstStep, name, settings, totalSteps }: Session,
  { evaluations, onChange, permits, queue, record, submitter }: Options
): Effect.fn.Return<TrainerStep, never, InferenceShare | Scope.Scope> {
  const share = yield* InferenceShare
  const scope = yield* Effect.scope
  const last = yield* Deferred.make<void>()
  let step = firstStep

  const onStatus = Effect.fnUntraced(function* (status: EnvironmentStatus) {
    const previous = step
    queue.pushed(status, submitter.isSending())
    permits.told(status.startable)
    step = status.currentStep
    yield* share.set(name, status.envWeight)
    if (step > previous) {
      // In a separate fiber: a slow answer must not delay the next status.
      yield* Effect.forkIn(record(step), scope)
      if (isEvaluationDue(previous, step, settings.stepsPerEval)) evaluations.request(step)
    }
    if (step >= totalSteps) yield* Deferred.succeed(last, undefined)
    onChange()
  })

  return {
    now: () => step,
    last: Deferred.await(last),
    follow: StatusFollower.run({ client, connection, onStatus })
  }
})
