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
import { charactersOf } from "./GroupFilter.ts"
import type { Spool, SpoolError } from "./Spool.ts"

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

const maxGroupsPerRequest = 64
const maxTokensPerRequest = 500_000
/** In bytes of a request, a token with its mask and logprob is worth so many characters of a chat. */
const charactersPerToken = 12
const requestTimeout = "2 minutes"

/** A submitter for one environment; `recovered` deliveries in the spool count as unsent from the start. */
export const make = (options: SubmitterOptions): Submitter => {
  const { isOnlyUnsent, onDelivered, onRejected, reconnect, spool, submit } = options
  const arrival = Latch.makeUnsafe(false)
  const empty = Latch.makeUnsafe(spool.size() === 0)
  let memory: Array<Delivery> = []
  let isAway = false
  let spoolFailure: string | undefined
  // Groups to be sent one by one because the request they were in was refused.
  let singles = 0
  let isSending = false
  const unsentOf = new Map<number, number>()
  for (const { index } of spool.recovered) unsentOf.set(index, (unsentOf.get(index) ?? 0) + 1)

  const unsent = (): number => memory.length + spool.size()

  const settled = ({ index }: Delivery): void => {
    const left = (unsentOf.get(index) ?? 1) - 1
    if (left > 0) unsentOf.set(index, left)
    else unsentOf.delete(index)
  }

  const persist = Effect.gen(function* () {
    // A copy: groups go on arriving during the write.
    const entries = memory.slice()
    if (entries.length === 0) return 0
    const written = yield* Effect.result(
      spool.append(
        entries.map((delivery) => ({
          delivery,
          closes: isOnlyUnsent(delivery.index, unsentOf.get(delivery.index) ?? 0)
        }))
      )
    )
    if (Result.isSuccess(written)) {
      memory = memory.slice(entries.length)
      options.onProgress()
      spoolFailure = undefined
      return memory.length
    }
    yield* logSpoolFailure(written.failure)
    return memory.length
  })

  const logSpoolFailure = (error: SpoolError): Effect.Effect<void> => {
    const isNews = spoolFailure !== error.message
    spoolFailure = error.message
    return Effect.when(
      Effect.logError("spool cannot take groups; they stay in memory", {
        reason: error.message,
        groups: memory.length
      }),
      Effect.succeed(isNews)
    )
  }

  /** Waits, and spools what arrives meanwhile, so that a crash during an outage costs no finished rollout. */
  const waitAway = Effect.fnUntraced(function* (millis: number) {
    const until = (yield* Clock.currentTimeMillis) + millis
    for (;;) {
      arrival.closeUnsafe()
      yield* persist
      const left = until - (yield* Clock.currentTimeMillis)
      if (left <= 0) return
      yield* Effect.timeoutOption(arrival.await, left)
    }
  })

  const next = Effect.gen(function* () {
    if (spool.size() === 0) return { source: "memory" as const, batch: limit(memory, singles > 0) }
    const oldest = yield* spool.peek.pipe(
      Effect.catch((error) =>
        Effect.as(Effect.logError("spooled groups cannot be read", { reason: error.message }), [])
      )
    )
    return { source: "spool" as const, batch: limit(oldest, singles > 0) }
  })

  const drop = Effect.fnUntraced(function* (source: "memory" | "spool", count: number) {
    if (source === "spool") yield* spool.commit(count)
    else memory.splice(0, count)
  })

  const run = Effect.gen(function* () {
    let attempts = 0
    for (;;) {
      arrival.closeUnsafe()
      if (unsent() === 0) {
        empty.openUnsafe()
        yield* arrival.await
        continue
      }
      const { batch, source } = yield* next
      if (batch.length === 0) continue
      isSending = true
      const answer = yield* Effect.result(
        submit(batch).pipe(
          Effect.timeoutOrElse({
            duration: requestTimeout,
            orElse: () =>
              Effect.fail(new TrajectoryError({ reason: "unreachable", message: `no answer within ${requestTimeout}` }))
          })
        )
      )
      isSending = false
      if (Result.isSuccess(answer)) {
        if (isAway) yield* Effect.logInfo("trajectory service is back", { unsent: unsent() })
        isAway = false
        attempts = 0
        yield* drop(source, batch.length)
        singles = Math.max(0, singles - batch.length)
        batch.forEach((delivery, position) => {
          settled(delivery)
          onDelivered(delivery, answer.success[position] ?? { status: "received" })
        })
        options.onProgress()
        continue
      }
      const error = answer.failure
      switch (error.reason) {
        case "rejected":
        case "unsupported":
        case "leaseLost": {
          if (batch.length > 1) {
            singles = batch.length
            break
          }
          yield* drop(source, 1)
          singles = Math.max(0, singles - 1)
          settled(batch[0]!)
          yield* onRejected(batch[0]!, error.message)
          options.onProgress()
          break
        }
        case "notFound": {
          yield* Effect.logWarning("trajectory service does not know this environment; registering again", {
            reason: error.message
          })
          yield* reconnect
          break
        }
        default: {
          attempts++
          if (!isAway) yield* Effect.logWarning("trajectory service is away; spooling", { reason: error.message })
          isAway = true
          yield* waitAway(yield* Retry.backoffMillis(attempts, { atLeast: error.retryAfterMillis ?? 0 }))
        }
      }
    }
  })

  return {
    offer: (delivery) => {
      memory.push(delivery)
      unsentOf.set(delivery.index, (unsentOf.get(delivery.index) ?? 0) + 1)
      empty.closeUnsafe()
      arrival.openUnsafe()
    },
    unsent,
    isSending: () => isSending,
    isBlocked: () => memory.length >= options.maxGroupsInMemory,
    run,
    flush: empty.await,
    persist
  }
}

const limit = (deliveries: ReadonlyArray<Delivery>, one: boolean): ReadonlyArray<Delivery> => {
  if (one) return deliveries.slice(0, 1)
  let tokens = 0
  let count = 0
  while (count < deliveries.length && count < maxGroupsPerRequest) {
    const { group } = deliveries[count]!
    for (const sequence of group.tokens) tokens += sequence.length
    tokens += charactersOf(group.messages ?? []) / charactersPerToken
    if (count > 0 && tokens > maxTokensPerRequest) break
    count++
  }
  return deliveries.slice(0, count)
}
