/**
 * Groups that the service has not answered for: those in the spool, which are sent first, and those in memory.
 *
 * Memory is bounded by callers that check `isBlocked`; groups that the spool cannot take stay in memory, which is
 * logged once.
 */
import { Effect, Result } from "effect"
import { charactersOf } from "./GroupFilter.ts"
import type { Delivery } from "./Delivery.ts"
import type { Spool } from "./Spool.ts"
import type { SpoolError } from "./SpoolError.ts"

export interface SendQueue {
  readonly add: (delivery: Delivery) => void
  readonly count: () => number
  readonly isBlocked: () => boolean
  /** Groups for the next request: the oldest ones, or only the oldest one. Empty if the spool cannot be read. */
  readonly next: (isSingle: boolean) => Effect.Effect<Request>
  /** The service has answered for the first `count` groups of a request. */
  readonly answered: (request: Request, count: number) => Effect.Effect<void>
  /** Writes the groups in memory to disk; returns the number that failed. */
  readonly persist: Effect.Effect<number>
}

export interface Request {
  readonly source: "memory" | "spool"
  readonly groups: ReadonlyArray<Delivery>
}

export interface Options {
  readonly spool: Spool
  /** Max groups kept in memory if the spool cannot take them. */
  readonly maxGroupsInMemory: number
  /** True if an item has nothing outstanding other than these unsent groups. */
  readonly isOnlyUnsent: (index: number, unsent: number) => boolean
  readonly onSpooled: () => void
}

const maxGroupsPerRequest = 64
const maxTokensPerRequest = 500_000
/** Size of a token with its mask and logprob in a request, in chat characters. */
const charactersPerToken = 12

/** `recovered` deliveries of the spool count from the start. */
export const make = ({ isOnlyUnsent, maxGroupsInMemory, onSpooled, spool }: Options): SendQueue => {
  let memory: Array<Delivery> = []
  let spoolFailure: string | undefined
  const countOfItem = new Map<number, number>()
  for (const { index } of spool.recovered) countOfItem.set(index, (countOfItem.get(index) ?? 0) + 1)

  const logFailure = (error: SpoolError): Effect.Effect<void> => {
    const isNews = spoolFailure !== error.message
    spoolFailure = error.message
    return Effect.when(
      Effect.logError("groups could not be spooled; keeping them in memory", {
        reason: error.message,
        groups: memory.length
      }),
      Effect.succeed(isNews)
    )
  }

  const persist = Effect.gen(function* () {
    // A copy: groups keep arriving during the write.
    const entries = memory.slice()
    if (entries.length === 0) return 0
    const written = yield* Effect.result(
      spool.append(
        entries.map((delivery) => ({
          delivery,
          closes: isOnlyUnsent(delivery.index, countOfItem.get(delivery.index) ?? 0)
        }))
      )
    )
    if (Result.isSuccess(written)) {
      memory = memory.slice(entries.length)
      onSpooled()
      spoolFailure = undefined
      return memory.length
    }
    yield* logFailure(written.failure)
    return memory.length
  })

  return {
    add: (delivery) => {
      memory.push(delivery)
      countOfItem.set(delivery.index, (countOfItem.get(delivery.index) ?? 0) + 1)
    },
    count: () => memory.length + spool.size(),
    isBlocked: () => memory.length >= maxGroupsInMemory,
    next: Effect.fnUntraced(function* (isSingle) {
      if (spool.size() === 0) return { source: "memory", groups: startOf(memory, isSingle) }
      const oldest = yield* spool.peek.pipe(
        Effect.catch((error) =>
          Effect.as(Effect.logError("spooled groups could not be read", { reason: error.message }), [])
        )
      )
      return { source: "spool", groups: startOf(oldest, isSingle) }
    }),
    answered: Effect.fnUntraced(function* ({ groups, source }, count) {
      if (source === "spool") yield* spool.commit(count)
      else memory.splice(0, count)
      for (const { index } of groups.slice(0, count)) {
        const left = (countOfItem.get(index) ?? 1) - 1
        if (left > 0) countOfItem.set(index, left)
        else countOfItem.delete(index)
      }
    }),
    persist
  }
}

const startOf = (deliveries: ReadonlyArray<Delivery>, isSingle: boolean): ReadonlyArray<Delivery> => {
  if (isSingle) return deliveries.slice(0, 1)
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
