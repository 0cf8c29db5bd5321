/**
 * Exports traces and metrics of this process to an OpenTelemetry collector, by OTLP over HTTP with Effect's own
 * exporters.
 *
 * Headers, compression, timeouts and resource attributes are set by the usual variables (`OTEL_EXPORTER_OTLP_HEADERS`,
 * `OTEL_RESOURCE_ATTRIBUTES`, …). The exporters try three times, drop what failed, and pause for a minute; the
 * beginning of an outage is logged here. Recorded metrics are included if `GaugeSink` is among the sinks.
 */
import { ConfigProvider, Effect, flow, Layer, Tracer } from "effect"
import { HttpClient } from "effect/http"
import { OtlpMetrics, OtlpSerialization, OtlpTracer } from "effect/observability"
import * as Trace from "../base/Trace.ts"

export interface Options {
  /** Base URL; `/v1/traces` and `/v1/metrics` are appended. */
  readonly endpoint: string
  readonly serviceName: string
  readonly serviceVersion?: string
  readonly attributes?: { readonly [name: string]: unknown }
  /** Share of the items traced. */
  readonly traceSample: number
}

/** Logs an outage once, which the exporters do not. */
const telling = Layer.effect(
  HttpClient.HttpClient,
  Effect.map(HttpClient.HttpClient, (client) => {
    let isOut = false
    const warn = (reason: string) =>
      Effect.suspend(() => {
        if (isOut) return Effect.void
        isOut = true
        return Effect.logWarning("telemetry could not be sent; continuing without it", { reason })
      })
    return HttpClient.transformResponse(
      client,
      flow(
        Effect.tap(({ request, status }) => {
          if (status >= 300) return warn(`${request.url} answered ${status}`)
          isOut = false
          return Effect.void
        }),
        Effect.tapError(({ message }) => warn(message))
      )
    )
  })
)

/** Installs the tracer, and exports until the scope closes, then for three more seconds at most. */
export const layer = ({
  attributes = {},
  endpoint,
  serviceName,
  serviceVersion,
  traceSample
}: Options): Layer.Layer<never, never, HttpClient.HttpClient> => {
  const resource = { serviceName, attributes, ...(serviceVersion && { serviceVersion }) }
  const variables = ConfigProvider.fromUnknown({
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_TRACES_EXPORTER: "otlp",
    OTEL_METRICS_EXPORTER: "otlp"
  })
  const sampledTracer = Layer.effect(
    Tracer.Tracer,
    Effect.map(Effect.tracer, (tracer) => Trace.sampled(tracer, traceSample))
  )
  return Layer.merge(
    sampledTracer.pipe(Layer.provide(OtlpTracer.layerFromConfig({ resource }))),
    OtlpMetrics.layerFromConfig({ resource })
  ).pipe(
    Layer.provide([OtlpSerialization.layerJson, telling]),
    Layer.provide(ConfigProvider.layerAdd(variables, { asPrimary: true }))
  )
}
