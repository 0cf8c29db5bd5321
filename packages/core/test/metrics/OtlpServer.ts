/**
 * A stand-in for an OpenTelemetry collector: takes OTLP over HTTP as JSON, and keeps the spans and the names of
 * metrics.
 */
import { Effect } from "effect"
import { createServer } from "node:http"
import { listen } from "./listen.ts"

export interface Span {
  readonly service: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly name: string
  readonly kind: number
  /** Seconds since the epoch. */
  readonly start: number
  readonly end: number
  readonly attributes: { readonly [name: string]: unknown }
  readonly links: ReadonlyArray<{ readonly traceId: string; readonly spanId: string }>
}

export interface OtlpServer {
  readonly url: string
  readonly spans: Array<Span>
  /** Names by service. */
  readonly metrics: Map<string, Set<string>>
  readonly bodies: Array<string>
}

interface Attribute {
  readonly key: string
  readonly value: { readonly [type: string]: unknown }
}

interface Traces {
  readonly resourceSpans: ReadonlyArray<{
    readonly resource: { readonly attributes: ReadonlyArray<Attribute> }
    readonly scopeSpans: ReadonlyArray<{
      readonly spans: ReadonlyArray<{
        readonly traceId: string
        readonly spanId: string
        readonly parentSpanId?: string
        readonly name: string
        readonly kind: number
        readonly startTimeUnixNano: string
        readonly endTimeUnixNano: string
        readonly attributes: ReadonlyArray<Attribute>
        readonly links: ReadonlyArray<{ readonly traceId: string; readonly spanId: string }>
      }>
    }>
  }>
}

interface Metrics {
  readonly resourceMetrics: ReadonlyArray<{
    readonly resource: { readonly attributes: ReadonlyArray<Attribute> }
    readonly scopeMetrics: ReadonlyArray<{ readonly metrics: ReadonlyArray<{ readonly name: string }> }>
  }>
}

const valuesOf = (attributes: ReadonlyArray<Attribute>): { readonly [name: string]: unknown } =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

const serviceOf = (attributes: ReadonlyArray<Attribute>): string => String(valuesOf(attributes)["service.name"])

const spansOf = ({ resourceSpans }: Traces): ReadonlyArray<Span> =>
  resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ attributes, endTimeUnixNano, parentSpanId, startTimeUnixNano, ...span }) => ({
        ...span,
        parentSpanId,
        service: serviceOf(resource.attributes),
        start: Number(startTimeUnixNano) / 1e9,
        end: Number(endTimeUnixNano) / 1e9,
        attributes: valuesOf(attributes)
      }))
    )
  )

/** Listens on a free port until the scope closes. */
export const make = Effect.gen(function* () {
  const spans: Array<Span> = []
  const metrics = new Map<string, Set<string>>()
  const bodies: Array<string> = []
  const take = (path: string, body: string): number => {
    bodies.push(body)
    if (path === "/v1/traces") {
      // What does not have this shape shows in the spans that are missing.
      spans.push(...spansOf(JSON.parse(body) as Traces))
      return 200
    }
    if (path !== "/v1/metrics") return 404
    for (const { resource, scopeMetrics } of (JSON.parse(body) as Metrics).resourceMetrics) {
      const names = metrics.get(serviceOf(resource.attributes)) ?? new Set<string>()
      metrics.set(serviceOf(resource.attributes), names)
      for (const scope of scopeMetrics) for (const { name } of scope.metrics) names.add(name)
    }
    return 200
  }
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      response.writeHead(take(request.url ?? "", Buffer.concat(chunks).toString())).end("{}")
    })
  })
  const url = yield* listen(server)
  return { url, spans, metrics, bodies } satisfies OtlpServer
})
