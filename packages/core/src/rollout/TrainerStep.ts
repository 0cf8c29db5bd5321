/**
 * Tracks the trainer's step reported by the service; each new step records the previous one's metrics and may start an
 * evaluation.
 */
import { Deferred, Effect, Result, type Scope, Stream } from "effect"
import type { EnvironmentStatus } from "../service/TrajectoryApi.ts"
import type { Evaluations } from "./Evaluations.ts"
import { InferenceShare } from "./InferenceShare.ts"
import type { Permits } from "./Permits.ts"
import type { QueueView } from "./QueueView.ts"
import type { Session } from "./Session.ts"
import type { Submitter } from "./submit/Submitter.ts"
import type { EnvironmentClientShape } from "../service/EnvironmentClient.ts"
import * as Retry from "../base/Retry.ts"
import type { Connection } from "./submit/Connection.ts"

/** Follows the status of an environment, through outages and re-registrations. */
const followStatus = Effect.fnUntraced(function* (options: {
  readonly client: Pick<EnvironmentClientShape, "statusChanges">
  readonly connection: Connection
  readonly onStatus: (status: EnvironmentStatus) => Effect.Effect<void>
}): Effect.fn.Return<never> {
  const { client, connection, onStatus } = options
  let attempts = 0
  for (;;) {
    const { envId } = connection.registration()
    const followed = yield* client.statusChanges(envId).pipe(
      Stream.runForEach((next) => {
        attempts = 0
        return onStatus(next)
      }),
      Effect.raceFirst(connection.replaced(envId)),
      Effect.result
    )
    if (connection.registration().envId !== envId) continue
    attempts++
    if (Result.isFailure(followed)) {
      if (followed.failure.reason === "notFound") {
        yield* connection.reconnect(envId)
        continue
      }
      if (attempts === 1) {
        yield* Effect.logWarning("trajectory service status unavailable", { reason: followed.failure.message })
      }
    }
    yield* Effect.sleep(yield* Retry.backoffMillis(attempts, { cap: 10_000 }))
  }
})

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
  /** The latest step known here. */
  readonly now: () => number
  readonly last: Effect.Effect<void>
  readonly follow: Effect.Effect<never>
}

export interface Options {
  readonly queue: Pick<QueueView, "pushed">
  readonly permits: Pick<Permits, "update">
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
    permits.update(status.startable)
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
    follow: followStatus({ client, connection, onStatus })
  }
})
