/**
 * Failures of the store in the log: what passes as one line now and then, what should not be with all there is to know.
 */
import { Clock, Context, Effect } from "effect"
import type { StoreError } from "./TrajectoryStore.ts"

/** Requests that the store failed and nobody was told of, and when somebody was. */
const Untold = Context.Reference<{ at: number; requests: number }>("@atropos/api/StoreFaults/Untold", {
  defaultValue: () => ({ at: Number.NEGATIVE_INFINITY, requests: 0 })
})

const pauseMillis = 10_000

export const tell = (error: StoreError): Effect.Effect<void> =>
  Effect.gen(function* () {
    if (!error.isTransient) return yield* Effect.logError("store failed", error)
    const untold = yield* Untold
    const now = yield* Clock.currentTimeMillis
    untold.requests++
    if (now - untold.at < pauseMillis) return
    yield* Effect.logWarning("requests were refused: the store is unavailable", {
      reason: error.message,
      requests: untold.requests
    })
    untold.at = now
    untold.requests = 0
  })
