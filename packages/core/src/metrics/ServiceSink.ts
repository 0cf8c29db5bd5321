/**
 * Figures to the trajectory service, which keeps them for its viewer and for Prometheus. The original's service takes
 * none: that is no failure.
 */
import { Effect, Option } from "effect"
import { type Entry, type Sink, SinkError } from "./Sink.ts"
import { TelemetryClient, type TelemetryClientShape } from "../service/TelemetryClient.ts"
import type { TrajectoryError } from "../service/TrajectoryError.ts"

const failure = ({ isPassing, message, retryAfterMillis }: TrajectoryError): SinkError =>
  new SinkError({
    reason: isPassing ? "passing" : "refused",
    message,
    ...(retryAfterMillis !== undefined && { retryAfterMillis })
  })

/** To the service behind this client. */
export const of = (client: TelemetryClientShape): Sink => ({
  name: "service",
  takesTables: false,
  // An answer is for one: after a failure in the middle of several some would be sent twice.
  batch: 1,
  open: ({ name }) =>
    Effect.succeed({
      write: (entries: ReadonlyArray<Entry>) =>
        Effect.forEach(
          entries,
          (entry) =>
            entry._tag === "Table"
              ? Effect.void
              : client.telemetry.pipe(
                  Effect.flatMap(
                    Option.match({
                      onNone: () => Effect.logDebug("the service does not accept metrics"),
                      onSome: ({ recordMetrics }) =>
                        recordMetrics({ source: name, step: entry.step, values: entry.values })
                    })
                  ),
                  Effect.mapError(failure)
                ),
          { discard: true }
        ),
      finish: () => Effect.void
    })
})

/** To the service of the context. */
export const make: Effect.Effect<Sink, never, TelemetryClient> = Effect.map(TelemetryClient, of)
