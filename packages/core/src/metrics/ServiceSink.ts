/**
 * Sends metrics and the settings of their source to the trajectory service, which stores them for its viewer and for
 * Prometheus. An older service accepts no settings: that is not a failure.
 */
import { Effect, Option } from "effect"
import type { SourceSettings } from "../service/TrajectoryApi.ts"
import { type Entry, type Sink, SinkError, type Source } from "./Sink.ts"
import { TelemetryClient, type TelemetryClientShape } from "../service/TelemetryClient.ts"
import type { TrajectoryError } from "../service/TrajectoryError.ts"

const failure = ({ isPassing, message, retryAfterMillis }: TrajectoryError): SinkError =>
  new SinkError({
    reason: isPassing ? "passing" : "refused",
    message,
    ...(retryAfterMillis !== undefined && { retryAfterMillis })
  })

/** JSON has neither NaN nor infinities: they are strings, as in metrics. */
const json = (config: Source["config"]): SourceSettings["settings"] =>
  // Parsed from JSON, so it is JSON.
  JSON.parse(
    JSON.stringify(config, (_, value: unknown) =>
      typeof value === "number" && !Number.isFinite(value) ? String(value) : value
    )
  ) as SourceSettings["settings"]

/** Failures are ignored: training does not depend on them. */
const tellSettings = Effect.fnUntraced(
  function* (client: TelemetryClientShape, { config, kind, name }: Source) {
    // A source recorded next to another one of the same run may have no settings.
    if (Object.keys(config).length === 0) return
    const telemetry = yield* client.telemetry
    if (Option.isNone(telemetry)) return
    yield* telemetry.value.recordSettings({ source: name, kind, settings: json(config) })
  },
  Effect.mapError(failure),
  Effect.catchIf(
    ({ reason }) => reason === "refused",
    ({ message }) => Effect.logDebug("the service does not store settings", { reason: message })
  )
)

/** Sends to the service of this client. */
export const of = (client: TelemetryClientShape): Sink => ({
  name: "service",
  takesTables: false,
  // An answer covers one entry: after a failure in the middle of several, some would be sent twice.
  batch: 1,
  open: (source) =>
    Effect.as(tellSettings(client, source), {
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
                        recordMetrics({ source: source.name, step: entry.step, values: entry.values })
                    })
                  ),
                  Effect.mapError(failure)
                ),
          { discard: true }
        ),
      finish: () => Effect.void
    })
})

/** Sends to the service of the context. */
export const make: Effect.Effect<Sink, never, TelemetryClient> = Effect.map(TelemetryClient, of)
