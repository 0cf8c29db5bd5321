/** Circuit breaker: after a number of consecutive failures, rollouts start one at a time and ever more slowly. */
import { Effect } from "effect"
import * as LogThrottle from "../../base/LogThrottle.ts"

export interface CircuitBreaker {
  readonly failed: (reason: string) => void
  /** A rollout ended without evidence against the next one. */
  readonly ended: () => void
  readonly isSlow: () => boolean
  readonly pause: Effect.Effect<void>
}

const maxPauseMillis = 60_000

/** Slow after `limit` consecutive failures. */
export const make = (limit: number): CircuitBreaker => {
  let failuresInARow = 0
  let last = ""
  let pauses = 0
  return {
    failed: (reason) => {
      failuresInARow++
      last = reason
    },
    ended: () => {
      failuresInARow = 0
    },
    isSlow: () => failuresInARow >= limit,
    pause: Effect.gen(function* () {
      const rounds = Math.floor(failuresInARow / limit)
      if (rounds === 0) return
      if (LogThrottle.isWorthLogging(++pauses)) {
        const figures = { failuresInARow, reason: last, ...(pauses > 1 && { times: pauses }) }
        yield* Effect.logWarning("rollouts keep failing; starting one at a time", figures)
      }
      yield* Effect.sleep(Math.min(maxPauseMillis, 1000 * 2 ** (rounds - 1)))
    })
  }
}
