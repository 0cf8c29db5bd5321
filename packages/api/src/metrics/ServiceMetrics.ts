/**
 * Counts and times the work of the service for Prometheus: submissions, batches, leases, requests, the event loop.
 * Counts are per process since its start; queue depths are read from the store on demand (`Prometheus`).
 */
import { Context, Effect, Layer, Metric } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { monitorEventLoopDelay } from "node:perf_hooks"

const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

const groups = Metric.counter("atropos.groups.submitted.total", {
  description: "Groups submitted, by outcome",
  incremental: true
})
const tokens = Metric.counter("atropos.tokens.submitted.total", {
  description: "Tokens of submitted groups",
  incremental: true
})
const batches = Metric.counter("atropos.batches.total", {
  description: "Batches by operation: claimed, acked, nacked",
  incremental: true
})
const requests = Metric.histogram("atropos.http.request.seconds", {
  description: "Time from request to response, including the wait of a claim but not the lifetime of an event stream",
  boundaries: seconds
})

/** Max distinct label sets of a metric, which are kept for the life of the process. */
const maxLabels = 500

/** Replaces the names of runs above that limit. */
export const other = "(other)"

/** Caches metrics with their labels: creating one costs more than updating it. */
const labelled = <Input, State>(metric: Metric.Metric<Input, State>) => {
  const made = new Map<string, Metric.Metric<Input, State>>()
  const of = (labels: { readonly [label: string]: string }): Metric.Metric<Input, State> => {
    const key = Object.values(labels).join("\n")
    const existing = made.get(key)
    if (existing !== undefined) return existing
    if (made.size >= maxLabels && labels["run"] !== undefined && labels["run"] !== other) {
      return of({ ...labels, run: other })
    }
    const fresh = Metric.withAttributes(metric, labels)
    made.set(key, fresh)
    return fresh
  }
  return of
}

const groupsBy = labelled(groups)
const tokensBy = labelled(tokens)
const batchesBy = labelled(batches)
const requestsBy = labelled(requests)

export const submitted = (
  run: string,
  outcomes: ReadonlyArray<{ readonly status: string }>,
  tokenCount: number
): Effect.Effect<void> =>
  Effect.forEach(outcomes, ({ status }) => Metric.update(groupsBy({ run, outcome: status }), 1), {
    discard: true
  }).pipe(Effect.andThen(Metric.update(tokensBy({ run }), tokenCount)))

export const batch = (run: string, event: "claimed" | "redelivered" | "acked" | "nacked"): Effect.Effect<void> =>
  Metric.update(batchesBy({ run, event }), 1)

/** Times every request of the routes under it, by route pattern. */
export const timing = HttpRouter.middleware((route) =>
  Effect.gen(function* () {
    const { route: matched } = yield* HttpRouter.RouteContext
    const { method } = yield* HttpServerRequest.HttpServerRequest
    const start = performance.now()
    const response = yield* route
    const labels = { method, route: matched.path, status: `${Math.floor(response.status / 100)}xx` }
    yield* Metric.update(requestsBy(labels), (performance.now() - start) / 1000)
    return response
  })
)

export class EventLoopDelay extends Context.Service<EventLoopDelay, ReturnType<typeof monitorEventLoopDelay>>()(
  "@atropos/api/ServiceMetrics/EventLoopDelay"
) {}

/** Monitors the event loop at a resolution of 10 ms. */
export const layerEventLoopDelay: Layer.Layer<EventLoopDelay> = Layer.effect(
  EventLoopDelay,
  Effect.acquireRelease(
    Effect.sync(() => {
      const histogram = monitorEventLoopDelay({ resolution: 10 })
      histogram.enable()
      return histogram
    }),
    (histogram) => Effect.sync(() => histogram.disable())
  )
)
