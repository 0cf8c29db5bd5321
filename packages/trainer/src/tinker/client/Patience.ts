/**
 * Retries requests: without connection, after 5xx and 429, with growing delay, until the server has not answered for
 * the time limit; 402 likewise, with a longer limit for paying. Everything else fails immediately.
 */
import * as Retry from "@atropos/core/base/Retry"
import { Clock, Effect, Result } from "effect"
import type { TinkerError } from "./TinkerError.ts"

export interface Patience {
  /** Max time without an answer, milliseconds. */
  readonly unavailableMillis: number
  /** Max time of 402, milliseconds. */
  readonly unpaidMillis: number
  /** Max delay between two attempts, milliseconds. */
  readonly pauseMillis: number
}

/** A server is restarted, or a region moved, within minutes; a bill is paid within an hour. */
export const defaults: Patience = { unavailableMillis: 600_000, unpaidMillis: 3_600_000, pauseMillis: 10_000 }

/** Time limit for retrying this failure; undefined: no retry. */
const limitOf = ({ reason }: TinkerError, patience: Patience): number | undefined => {
  if (reason === "unavailable" || reason === "overloaded") return patience.unavailableMillis
  return reason === "unpaid" ? patience.unpaidMillis : undefined
}

/** Logged once, when waiting starts. */
const logRetry = ({ message, reason, server }: TinkerError) =>
  reason === "unpaid"
    ? Effect.logWarning("training is paused: the server asks for payment", { server, because: message })
    : Effect.logWarning("the server does not respond; retrying", { server, because: message })

/** Milliseconds before the next attempt. */
export const pause = ({ retryAfterMillis = 0 }: TinkerError, attempt: number, { pauseMillis }: Patience) =>
  Retry.backoffMillis(attempt, { atLeast: Math.min(retryAfterMillis, 60_000), cap: pauseMillis })

export const persistently = Effect.fnUntraced(function* <A, R>(
  effect: Effect.Effect<A, TinkerError, R>,
  patience: Patience
) {
  let since: number | undefined
  for (let attempt = 1; ; attempt++) {
    const done = yield* Effect.result(effect)
    if (Result.isSuccess(done)) return done.success
    const error = done.failure
    const limit = limitOf(error, patience)
    const now = yield* Clock.currentTimeMillis
    since ??= now
    if (limit === undefined || now - since >= limit) return yield* error
    // A single failure is normal: servers restart, connections break.
    if (attempt === 2) yield* logRetry(error)
    yield* Effect.sleep(yield* pause(error, attempt, patience))
  }
})
