/**
 * Publishes metrics as gauges of this process, `atropos.<name>` with the label `source`, for metrics readers:
 * Prometheus (`PrometheusServer`, as `atropos_<name>`), OpenTelemetry (`OpenTelemetry`).
 *
 * A gauge has the newest value. In addition there is `atropos.step`.
 */
import { Effect, Metric } from "effect"
import type { Entry, Sink } from "./Sink.ts"

/** By Prometheus name: names that collide there share the first one's gauge. */
const gaugesByName = new Map<string, Metric.Gauge<number>>()

const gauge = (name: string): Metric.Gauge<number> => {
  const key = name.replaceAll(/[^a-zA-Z0-9]+/g, "_")
  const existing = gaugesByName.get(key)
  if (existing !== undefined) return existing
  // Characters allowed by OpenTelemetry: letters, digits, dot, dash, slash, underscore.
  const fresh = Metric.gauge(`atropos.${name.replaceAll(/[^\w./-]/g, "_")}`, { description: `Newest value of ${name}` })
  gaugesByName.set(key, fresh)
  return fresh
}

const step = Metric.gauge("atropos.step", { description: "Trainer step of the newest metrics" })

export const sink: Sink = {
  name: "gauges",
  takesTables: false,
  batch: 1000,
  open: ({ name: source }) =>
    Effect.sync(() => {
      // Creating a gauge costs more than updating it.
      const gauges = new Map<string, ReturnType<typeof gauge>>()
      const gaugeOf = (name: string) => {
        const existing = gauges.get(name)
        if (existing !== undefined) return existing
        const fresh = Metric.withAttributes(gauge(name), { source })
        gauges.set(name, fresh)
        return fresh
      }
      const ownStep = Metric.withAttributes(step, { source })
      const update = Effect.fnUntraced(function* (entry: Entry) {
        if (entry._tag === "Table") return
        yield* Metric.update(ownStep, entry.step)
        for (const [name, value] of Object.entries(entry.values)) yield* Metric.update(gaugeOf(name), value)
      })
      return {
        write: (entries: ReadonlyArray<Entry>) => Effect.forEach(entries, update, { discard: true }),
        finish: () => Effect.void
      }
    })
}
