/**
 * Serves this process's metrics to Prometheus, as text at `http://<host>:<port>/metrics`: its counters, and recorded
 * metrics if `GaugeSink` is among the sinks.
 *
 * An unavailable address is logged once and retried every half minute; the run continues.
 */
import { Deferred, Effect, Layer, Result, Schedule, Scope } from "effect"
import { HttpServer } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import * as BrowserGuard from "../http/BrowserGuard.ts"
import * as Listening from "../http/Listening.ts"
import * as Serving from "../http/Serving.ts"

export interface Options {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
}

/** Serves until the scope closes; `url` waits until it does. */
export const start = Effect.fnUntraced(function* (options: Options) {
  const scope = yield* Effect.scope
  const listening = yield* Deferred.make<string>()
  const server = Layer.effectDiscard(
    Effect.flatMap(HttpServer.HttpServer, ({ address }) =>
      Deferred.succeed(listening, `${HttpServer.formatAddress(address)}/metrics`)
    )
  ).pipe(
    Layer.merge(
      Layer.unwrap(
        Effect.map(Serving.app(Layer.merge(PrometheusMetrics.layerHttp(), BrowserGuard.layer(options))), (app) =>
          HttpServer.serve(app)
        )
      )
    ),
    // Each attempt has its own server.
    Layer.provide(
      Layer.suspend(() =>
        Listening.layer(Listening.makeServer(), { ...options, gracefulShutdownTimeout: "20 seconds" })
      )
    )
  )
  let isTold = false
  const listen = Effect.gen(function* () {
    const attempt = yield* Scope.fork(scope)
    const result = yield* Effect.result(Layer.buildWithScope(server, attempt))
    if (Result.isSuccess(result)) return true
    if (!isTold) {
      yield* Effect.logWarning("metrics server failed to start; retrying", {
        ...options,
        reason: result.failure.message
      })
    }
    isTold = true
    return false
  })
  yield* Effect.forkIn(Effect.repeat(listen, { until: (isUp) => isUp, schedule: Schedule.spaced("30 seconds") }), scope)
  return { url: Deferred.await(listening) }
})
