/**
 * Traces and metrics of this process to an OpenTelemetry collector: OTLP over HTTP, as Effect's own exporters speak it.
 *
 * Headers, compression, time limits and resource attributes are those of the usual variables
 * (`OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_RESOURCE_ATTRIBUTES`, …). The exporters try three times, drop what did not go,
 * and rest for a minute; that is told here when it begins. Figures are among the metrics where `GaugeSink` is among the
 * sinks.
 */
import { ConfigProvider, Effect, flow, Layer, Tracer } from "effect"
import { HttpClient } from "effect/http"
import { OtlpMetrics, OtlpSerialization, OtlpTracer } from "effect/observability"
import * as Trace from "../base/Trace.ts"

export interface Options {
  /** Base URL; `/v1/traces` and `/v1/metrics` are added. */
  readonly endpoint: string
  /** `service.name`: what traces are listed under. */
  readonly serviceName: string
  readonly serviceVersion?: string
  readonly attributes?: { readonly [name: string]: unknown }
  /** Share of the items traced. */
  readonly traceSample: number
}

/** Tells of an outage once; the exporters do not. */
const telling = Layer.effect(
  HttpClient.HttpClient,
  Effect.map(HttpClient.HttpClient, (client) => {
    let isOut = false
    const tell = (reason: string) =>
      Effect.suspend(() => {
        if (isOut) return Effect.void
        isOut = true
        return Effect.logWarning("cannot send telemetry; the run continues without it", { reason })
      })
    return HttpClient.transformResponse(
      client,
      flow(
        Effect.tap(({ request, status }) => {
          if (status >= 300) return tell(`${request.url} answered ${status}`)
          isOut = false
          return Effect.void
        }),
        Effect.tapError(({ message }) => tell(message))
      )
    )
  })
)

/** Installs the tracer, and exports until the scope closes, then for three seconds at most. */
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
