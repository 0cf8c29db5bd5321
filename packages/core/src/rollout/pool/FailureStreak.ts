/** Circuit breaker: after a number of consecutive failures, rollouts start one at a time and ever more slowly. */
import { Effect } from "effect"

export interface FailureStreak {
  readonly failed: (reason: string) => void
  /** A rollout ended without evidence against the next one. */
  readonly ended: () => void
  readonly isSlow: () => boolean
  readonly pause: Effect.Effect<void>
}

const longestPauseMillis = 60_000

/** Slow after `limit` consecutive failures. */
export const make = (limit: number): FailureStreak => {
  let failuresInARow = 0
  let last = ""
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
      yield* Effect.logWarning("rollouts keep failing; starting one at a time", { failuresInARow, reason: last })
      yield* Effect.sleep(Math.min(longestPauseMillis, 1000 * 2 ** (rounds - 1)))
    })
  }
}
