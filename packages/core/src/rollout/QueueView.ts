/**
 * Tracks the queue as known locally: the service's last status, and the groups it has answered for since.
 *
 * A pushed status may be older or newer than concurrent answers, so that such groups would be counted twice or not at
 * all: the previous status is then kept, and a new one is requested when it matters.
 */
import { Effect, Latch, Result } from "effect"
import type { EnvironmentStatus } from "../service/TrajectoryApi.ts"
import type { TrajectoryError } from "../service/TrajectoryError.ts"

export interface QueueView {
  /** Absent before the first status. */
  readonly status: () => EnvironmentStatus | undefined
  /** Answered groups that `status` may not include yet. */
  readonly uncounted: () => number
  readonly answered: () => void
  /** A status was pushed; `isSending`: while groups were being sent. */
  readonly pushed: (status: EnvironmentStatus, isSending: boolean) => void
  /** The queue seems full, perhaps because groups are counted twice: requests a status if so. */
  readonly doubt: () => void
  readonly run: Effect.Effect<never>
}

export const make = (options: {
  readonly ask: Effect.Effect<EnvironmentStatus, TrajectoryError>
  /** A new status arrived: there may be capacity now. */
  readonly onAsked: () => void
}): QueueView => {
  const doubts = Latch.makeUnsafe(false)
  let status: EnvironmentStatus | undefined
  let uncounted = 0
  let answeredInAll = 0
  let isStale = false

  const run = Effect.gen(function* () {
    for (;;) {
      yield* doubts.await
      const before = answeredInAll
      const fresh = yield* Effect.result(options.ask)
      doubts.closeUnsafe()
      if (Result.isSuccess(fresh)) {
        status = fresh.success
        uncounted = answeredInAll - before
        isStale = false
      } else {
        // The status follower waits for the service and logs it; this only avoids busy polling.
        yield* Effect.sleep("1 second")
      }
      options.onAsked()
    }
  })

  return {
    status: () => status,
    uncounted: () => uncounted,
    answered: () => {
      uncounted++
      answeredInAll++
    },
    pushed: (next, isSending) => {
      if (status !== undefined && (uncounted > 0 || isSending)) isStale = true
      else status = next
    },
    doubt: () => {
      if (uncounted > 0 || isStale) doubts.openUnsafe()
    },
    run
  }
}
