/**
 * Provides the whole trajectory service as a layer: the original's endpoints at the root, the versioned ones under
 * `/v1`, `/metrics` for Prometheus, the viewer at `/ui` (browsers at `/` are redirected there). `layer` mounts into any
 * `HttpRouter` (under a prefix with `router.prefixed`); `serve` listens by itself.
 *
 * Both need a store and `Auth`, so that the embedder chooses the database and the tokens. Without tokens, mount `guard`
 * too, as `serve` does: otherwise any web page could send requests from a browser on this machine.
 */
import type { BrowserGuard } from "@atropos/core"
import type * as BearerTokens from "@atropos/core/http/BearerTokens"
import type * as Listening from "@atropos/core/http/Listening"
import { type Duration, Effect, Layer } from "effect"
import { HttpRouter, type HttpServer } from "effect/http"
import * as Auth from "./http/Auth.ts"
import type * as Cors from "./http/Cors.ts"
import * as Server from "./http/HttpServer.ts"
import * as Prometheus from "./metrics/Prometheus.ts"
import * as ServiceMetrics from "./metrics/ServiceMetrics.ts"
import type { RolloutReader } from "./store/RolloutReader.ts"
import type { TrajectoryStore } from "./store/TrajectoryStore.ts"
import * as V0 from "./v0/V0.ts"
import * as V1 from "./v1/V1.ts"
import * as ViewerPage from "./ViewerPage.ts"

export { guard } from "./http/HttpServer.ts"

export interface Options {
  /** Max time to write out the reply of the original's `/batch`. */
  readonly lease?: Duration.Input
}

/** The routes, for a router of the caller's. */
export const layer = (
  options: Options = {}
): Layer.Layer<never, never, HttpRouter.HttpRouter | TrajectoryStore | RolloutReader | Auth.Auth> => {
  const open = Layer.mergeAll(V0.layer(options), Prometheus.layer).pipe(
    Layer.provide(Auth.middleware.layer),
    Layer.provide(ViewerPage.forBrowsers.layer)
  )
  return Layer.mergeAll(open, V1.layer, ViewerPage.layer).pipe(
    Layer.provide(ServiceMetrics.timing.layer),
    Layer.provide(ServiceMetrics.layerEventLoopDelay)
  )
}

/** The routes under a path, e.g. `/atropos`. */
export const layerAt = (
  prefix: `/${string}`,
  options: Options = {}
): Layer.Layer<never, never, HttpRouter.HttpRouter | TrajectoryStore | RolloutReader | Auth.Auth> =>
  layer(options).pipe(
    Layer.provide(
      Layer.effect(
        HttpRouter.HttpRouter,
        Effect.map(HttpRouter.HttpRouter, (router) => router.prefixed(prefix))
      )
    )
  )

export interface ServeOptions extends Options {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Serve other machines without tokens. Default: no. */
  readonly allowInsecure?: boolean
  /** Web pages that may call. Default: those from this machine. */
  readonly origins?: Cors.Origins
}

/** Listens until the scope closes; refuses to serve other machines without tokens unless `allowInsecure` is set. */
export const serve = (
  options: ServeOptions
): Layer.Layer<
  HttpServer.HttpServer,
  BearerTokens.AuthConfigError | Listening.ListenError | BrowserGuard.BrowserGuardError,
  TrajectoryStore | RolloutReader | Auth.Auth
> =>
  Layer.unwrap(
    Effect.map(
      Auth.requireSafeBinding({ host: options.host, allowInsecure: options.allowInsecure ?? false }),
      ({ isRequired }) => Server.layer(layer(options), { ...options, asksForTokens: isRequired })
    )
  )
