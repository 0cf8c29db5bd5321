/**
 * Figures and the settings of who records them to the trajectory service, which keeps them for its viewer and for
 * Prometheus. The original's service takes none, and one of an earlier version no settings: that is no failure.
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

/** JSON has neither NaN nor infinities: they are strings, as among figures. */
const json = (config: Source["config"]): SourceSettings["settings"] =>
  // What JSON was made of is JSON.
  JSON.parse(
    JSON.stringify(config, (_, value: unknown) =>
      typeof value === "number" && !Number.isFinite(value) ? String(value) : value
    )
  ) as SourceSettings["settings"]

/** Nobody trains the less for it where they are not taken. */
const tellSettings = Effect.fnUntraced(
  function* (client: TelemetryClientShape, { config, kind, name }: Source) {
    // A source recorded beside another of the same run may have no settings.
    if (Object.keys(config).length === 0) return
    const telemetry = yield* client.telemetry
    if (Option.isNone(telemetry)) return
    yield* telemetry.value.recordSettings({ source: name, kind, settings: json(config) })
  },
  Effect.mapError(failure),
  Effect.catchIf(
    ({ reason }) => reason === "refused",
    ({ message }) => Effect.logDebug("the service does not keep settings", { reason: message })
  )
)

/** To the service behind this client. */
export const of = (client: TelemetryClientShape): Sink => ({
  name: "service",
  takesTables: false,
  // An answer is for one: after a failure in the middle of several some would be sent twice.
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

/** To the service of the context. */
export const make: Effect.Effect<Sink, never, TelemetryClient> = Effect.map(TelemetryClient, of)
