/**
 * The queue as far as it is known here: the last status of the service, and how many groups it has answered for since.
 *
 * A pushed status may be older or newer than the answers to what was sent meanwhile, so that such groups would be
 * counted twice or not at all: then the status before stays, and a fresh one is asked for once it matters.
 */
import { Effect, Latch, Result } from "effect"
import type { EnvironmentStatus } from "../service/TrajectoryApi.ts"
import type { TrajectoryError } from "../service/TrajectoryError.ts"

export interface QueueView {
  /** Absent before the first one has come. */
  readonly status: () => EnvironmentStatus | undefined
  /** Groups answered for that `status` may not count yet. */
  readonly uncounted: () => number
  /** The service has answered for a group. */
  readonly answered: () => void
  /** A status came by itself; `isSending`: while groups were on their way. */
  readonly pushed: (status: EnvironmentStatus, isSending: boolean) => void
  /** The queue seems full, perhaps only because groups are counted twice: asks, if so. */
  readonly doubt: () => void
  /** Asks for as long as it runs. */
  readonly run: Effect.Effect<never>
}

export const make = (options: {
  readonly ask: Effect.Effect<EnvironmentStatus, TrajectoryError>
  /** The service was asked: there may be room now. */
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
        // Whoever follows the status waits for the service and says so; here it is only a matter of not insisting.
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
