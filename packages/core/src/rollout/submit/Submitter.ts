/**
 * Sends groups to the service: keyed, in order, several per request, with unlimited retries.
 *
 * A group is removed only once the service has answered for it. During an outage, groups go to the spool (synced, in
 * order), which is drained first; if the spool cannot take them they stay in memory, and `isBlocked` pauses rollouts. A
 * rejected group is isolated and becomes a dead letter; the others of its request are sent.
 */
import { Clock, Effect, Latch, Result } from "effect"
import type { SubmitOutcome } from "../../service/TrajectoryApi.ts"
import { TrajectoryError } from "../../service/TrajectoryError.ts"
import * as Retry from "../../base/Retry.ts"
import type { Delivery } from "./Delivery.ts"
import type { Spool } from "./Spool.ts"
import * as SendQueue from "./SendQueue.ts"

export interface SubmitterOptions {
  readonly spool: Spool
  readonly submit: (groups: ReadonlyArray<Delivery>) => Effect.Effect<ReadonlyArray<SubmitOutcome>, TrajectoryError>
  /** Registers again after the service has forgotten the environment. */
  readonly reconnect: Effect.Effect<void>
  /** True if an item has nothing outstanding other than these unsent groups. */
  readonly isOnlyUnsent: (index: number, unsent: number) => boolean
  readonly onDelivered: (delivery: Delivery, outcome: SubmitOutcome) => void
  readonly onRejected: (delivery: Delivery, reason: string) => Effect.Effect<void>
  /** Groups have left memory: `isBlocked` or `unsent` may have changed. */
  readonly onProgress: () => void
  /** Max groups kept in memory if the spool cannot take them. */
  readonly maxGroupsInMemory: number
}

export interface Submitter {
  readonly offer: (delivery: Delivery) => void
  /** Groups not yet answered for. */
  readonly unsent: () => number
  /** A request is in flight: the service may already have its groups. */
  readonly isSending: () => boolean
  /** The memory bound is reached: rollouts should pause. */
  readonly isBlocked: () => boolean
  readonly run: Effect.Effect<never>
  readonly flush: Effect.Effect<void>
  /** Writes the groups in memory to disk; returns the number that failed. */
  readonly persist: Effect.Effect<number>
}

const requestTimeout = "2 minutes"

/** A submitter for one environment; `recovered` deliveries in the spool count as unsent from the start. */
export const make = (options: SubmitterOptions): Submitter => {
  const { isOnlyUnsent, maxGroupsInMemory, onDelivered, onProgress, onRejected, reconnect, spool } = options
  const unsent = SendQueue.make({ spool, maxGroupsInMemory, isOnlyUnsent, onSpooled: onProgress })
  const arrival = Latch.makeUnsafe(false)
  const empty = Latch.makeUnsafe(spool.size() === 0)
  /** Consecutive requests that did not reach the service. */
  let failures = 0
  /** Groups to send individually because their request was rejected. */
  let singles = 0
  let isSending = false

  /** Waits, spooling what arrives meanwhile, so that a crash during an outage loses no finished rollout. */
  const waitAway = Effect.fnUntraced(function* (millis: number) {
    const until = (yield* Clock.currentTimeMillis) + millis
    for (;;) {
      arrival.closeUnsafe()
      yield* unsent.persist
      const left = until - (yield* Clock.currentTimeMillis)
      if (left <= 0) return
      yield* Effect.timeoutOption(arrival.await, left)
    }
  })

  const send = Effect.fnUntraced(function* (groups: ReadonlyArray<Delivery>) {
    isSending = true
    const answer = yield* options.submit(groups).pipe(
      Effect.timeoutOrElse({
        duration: requestTimeout,
        orElse: () =>
          Effect.fail(new TrajectoryError({ reason: "unreachable", message: `no answer within ${requestTimeout}` }))
      }),
      Effect.result
    )
    isSending = false
    return answer
  })

  const onAnswer = Effect.fnUntraced(function* (request: SendQueue.Request, outcomes: ReadonlyArray<SubmitOutcome>) {
    const { groups } = request
    if (failures > 0) yield* Effect.logInfo("trajectory service is back", { unsent: unsent.count() })
    failures = 0
    yield* unsent.answered(request, groups.length)
    singles = Math.max(0, singles - groups.length)
    groups.forEach((delivery, position) => onDelivered(delivery, outcomes[position] ?? { status: "received" }))
    onProgress()
  })

  const onError = Effect.fnUntraced(function* (request: SendQueue.Request, error: TrajectoryError) {
    const { groups } = request
    switch (error.reason) {
      case "rejected":
      case "unsupported":
      case "leaseLost": {
        if (groups.length > 1) {
          singles = groups.length
          return
        }
        yield* unsent.answered(request, 1)
        singles = Math.max(0, singles - 1)
        yield* onRejected(groups[0]!, error.message)
        return onProgress()
      }
      case "notFound": {
        yield* Effect.logWarning("trajectory service does not know this environment; re-registering", {
          reason: error.message
        })
        return yield* reconnect
      }
      default: {
        failures++
        if (failures === 1)
          yield* Effect.logWarning("trajectory service is unreachable; spooling groups", { reason: error.message })
        yield* waitAway(yield* Retry.backoffMillis(failures, { atLeast: error.retryAfterMillis ?? 0 }))
      }
    }
  })

  const run = Effect.gen(function* () {
    for (;;) {
      arrival.closeUnsafe()
      if (unsent.count() === 0) {
        empty.openUnsafe()
        yield* arrival.await
        continue
      }
      const request = yield* unsent.next(singles > 0)
      if (request.groups.length === 0) continue
      const answer = yield* send(request.groups)
      yield* Result.isSuccess(answer) ? onAnswer(request, answer.success) : onError(request, answer.failure)
    }
  })

  return {
    offer: (delivery) => {
      unsent.add(delivery)
      empty.closeUnsafe()
      arrival.openUnsafe()
    },
    unsent: unsent.count,
    isSending: () => isSending,
    isBlocked: unsent.isBlocked,
    run,
    flush: empty.await,
    persist: unsent.persist
  }
}
