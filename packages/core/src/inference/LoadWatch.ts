/** Follows the load of a server's engine while requests are under way, and adapts its limit to it (`AdaptiveLimit`). */
import { Duration, Effect, Metric, Result } from "effect"
import type { InferenceServer } from "./InferenceServer.ts"

const gauge = Metric.gauge("atropos.inference.limit", {
  description: "training requests that may run at once on an inference server"
})

const interval = Duration.seconds(2)
const patience = Duration.seconds(5)

/** Ends when no request is under way, or if the engine reports no load. `serve` grants slots that became free. */
export const watch = (
  server: InferenceServer,
  serve: Effect.Effect<void>,
  pause: Duration.Duration = interval
): Effect.Effect<void> => {
  const { train } = server.splits
  const limited = Metric.withAttributes(gauge, { server: server.backend.server })
  return Effect.gen(function* () {
    while (true) {
      yield* Effect.sleep(pause)
      const { load } = server.backend
      if (train.inFlight === 0 || load === undefined) return
      const reading = yield* Effect.result(Effect.timeout(load, patience))
      if (Result.isFailure(reading)) {
        yield* Effect.logDebug("load of an inference server could not be read", {
          server: server.backend.server,
          reason: reading.failure.message
        })
        continue
      }
      const before = train.limit
      train.adapt(reading.success)
      yield* Metric.update(limited, train.limit)
      if (train.limit === before) continue
      const isLower = train.limit < before
      // Logged when it leaves the max; then at each change for debugging.
      const log = isLower && before === train.max ? Effect.logInfo : Effect.logDebug
      yield* log(isLower ? "inference server is full; sending it fewer requests" : "sending more requests", {
        server: server.backend.server,
        limit: train.limit,
        before,
        ...reading.success
      })
      yield* serve
    }
  })
}
