/** Logs failures of the store: transient ones as an occasional line, others with all details. */
import { Clock, Context, Effect, Metric } from "effect"
import type { StoreError } from "./TrajectoryStore.ts"

/** Number of failed requests not logged yet, and time of the last log. */
const Untold = Context.Reference<{ at: number; requests: number }>("@atropos/api/StoreFaults/Untold", {
  defaultValue: () => ({ at: Number.NEGATIVE_INFINITY, requests: 0 })
})

const pauseMillis = 10_000

const lostGroups = Metric.counter("atropos.groups.lost.total", {
  description: "Groups dropped from their batches because their payloads are missing in the object storage",
  incremental: true
})

/** Reports a group whose payload is lost: its batch goes out without it. */
export const lost = (run: string, group: string, { message }: StoreError): Effect.Effect<void> =>
  Effect.andThen(
    Metric.update(Metric.withAttributes(lostGroups, { run }), 1),
    Effect.logError("group dropped: its payload is lost", { run, group, reason: message })
  )

export const report = (error: StoreError): Effect.Effect<void> =>
  Effect.gen(function* () {
    if (!error.isTransient) return yield* Effect.logError("store failed", error)
    const untold = yield* Untold
    const now = yield* Clock.currentTimeMillis
    untold.requests++
    if (now - untold.at < pauseMillis) return
    yield* Effect.logWarning("requests rejected: store unavailable", {
      reason: error.message,
      requests: untold.requests
    })
    untold.at = now
    untold.requests = 0
  })
