/**
 * Brings groups to the service: keyed, in order, several per request, as often as it takes.
 *
 * A group leaves only when the service has answered for it. While the service is away, groups go to the spool (synced,
 * in order) and are drained first when it is back; when the spool cannot take them they stay in memory, and `isBlocked`
 * asks for no more of them. A group the service refuses is singled out and becomes a dead letter; the others of its
 * request are sent.
 */
import { Clock, Effect, Latch, Result } from "effect"
import type { SubmitOutcome } from "../../service/TrajectoryApi.ts"
import { TrajectoryError } from "../../service/TrajectoryError.ts"
import * as Retry from "../../base/Retry.ts"
import type { Delivery } from "./Delivery.ts"
import type { Spool } from "./Spool.ts"
import * as Unsent from "./Unsent.ts"

export interface SubmitterOptions {
  readonly spool: Spool
  readonly submit: (groups: ReadonlyArray<Delivery>) => Effect.Effect<ReadonlyArray<SubmitOutcome>, TrajectoryError>
  /** Registers again after the service has forgotten the environment. */
  readonly reconnect: Effect.Effect<void>
  /** Whether an item has nothing outstanding but these unsent groups. */
  readonly isOnlyUnsent: (index: number, unsent: number) => boolean
  readonly onDelivered: (delivery: Delivery, outcome: SubmitOutcome) => void
  readonly onRejected: (delivery: Delivery, reason: string) => Effect.Effect<void>
  /** Groups have left memory: `isBlocked` or `unsent` may say something else. */
  readonly onProgress: () => void
  /** Groups kept in memory when the spool cannot take them. */
  readonly maxGroupsInMemory: number
}

export interface Submitter {
  readonly offer: (delivery: Delivery) => void
  /** Groups not yet answered for. */
  readonly unsent: () => number
  /** A request is on its way: the service may have its groups already. */
  readonly isSending: () => boolean
  /** The memory bound is reached: no more rollouts, please. */
  readonly isBlocked: () => boolean
  /** Sends for as long as it runs. */
  readonly run: Effect.Effect<never>
  /** Waits until everything is sent. */
  readonly flush: Effect.Effect<void>
  /** Puts what is in memory on disk; number of groups that could not be. */
  readonly persist: Effect.Effect<number>
}

const requestTimeout = "2 minutes"

/** A submitter for one environment; `recovered` deliveries in the spool count as unsent from the start. */
export const make = (options: SubmitterOptions): Submitter => {
  const { isOnlyUnsent, maxGroupsInMemory, onDelivered, onProgress, onRejected, reconnect, spool } = options
  const unsent = Unsent.make({ spool, maxGroupsInMemory, isOnlyUnsent, onSpooled: onProgress })
  const arrival = Latch.makeUnsafe(false)
  const empty = Latch.makeUnsafe(spool.size() === 0)
  /** Requests in a row that found no service. */
  let failures = 0
  /** Groups to be sent one by one because the request they were in was refused. */
  let singles = 0
  let isSending = false

  /** Waits, and spools what arrives meanwhile, so that a crash during an outage costs no finished rollout. */
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

  const onAnswer = Effect.fnUntraced(function* (request: Unsent.Request, outcomes: ReadonlyArray<SubmitOutcome>) {
    const { groups } = request
    if (failures > 0) yield* Effect.logInfo("trajectory service is back", { unsent: unsent.count() })
    failures = 0
    yield* unsent.answered(request, groups.length)
    singles = Math.max(0, singles - groups.length)
    groups.forEach((delivery, position) => onDelivered(delivery, outcomes[position] ?? { status: "received" }))
    onProgress()
  })

  const onError = Effect.fnUntraced(function* (request: Unsent.Request, error: TrajectoryError) {
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
        yield* Effect.logWarning("trajectory service does not know this environment; registering again", {
          reason: error.message
        })
        return yield* reconnect
      }
      default: {
        failures++
        if (failures === 1) yield* Effect.logWarning("trajectory service is away; spooling", { reason: error.message })
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
