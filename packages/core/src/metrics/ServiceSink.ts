/**
 * Figures to the trajectory service, which keeps them for its viewer and for Prometheus. The original's service takes
 * none: that is no failure.
 */
import { Effect } from "effect"
import { type Entry, type Sink, SinkError } from "./Sink.ts"
import { TrajectoryClient, type TrajectoryClientShape, type TrajectoryError } from "../service/TrajectoryClient.ts"

const failure = ({ message, reason, retryAfterMillis }: TrajectoryError): SinkError =>
  new SinkError({
    reason: reason === "unreachable" || reason === "overloaded" ? "passing" : "refused",
    message,
    ...(retryAfterMillis !== undefined && { retryAfterMillis })
  })

/** To the service behind this client. */
export const of = (client: TrajectoryClientShape): Sink => ({
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
              : client.recordMetrics({ source: name, step: entry.step, values: entry.values }).pipe(
                  Effect.catchIf(
                    ({ reason }) => reason === "unsupported",
                    () => Effect.logDebug("the service takes no metrics")
                  ),
                  Effect.mapError(failure)
                ),
          { discard: true }
        ),
      finish: () => Effect.void
    })
})

/** To the service of the context. */
export const make: Effect.Effect<Sink, never, TrajectoryClient> = Effect.map(TrajectoryClient, of)
