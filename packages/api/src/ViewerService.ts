/**
 * Serves the viewer over any `RolloutReader`: the page at `/ui`, and the endpoints it reads under `/v1`, for rollouts
 * stored elsewhere than in the store of `TrajectoryService`, which includes this. Queue summaries and environment
 * statuses return 404. All endpoints are GET and read-only.
 */
import type { BrowserGuard } from "@atropos/core"
import type * as BearerTokens from "@atropos/core/http/BearerTokens"
import type * as Listening from "@atropos/core/http/Listening"
import { Effect, Layer } from "effect"
import { HttpRouter, type HttpServer } from "effect/http"
import * as Auth from "./http/Auth.ts"
import * as Server from "./http/HttpServer.ts"
import type { RolloutReader } from "./store/RolloutReader.ts"
import * as V1 from "./v1/V1.ts"
import * as ViewerPage from "./ViewerPage.ts"

/** The routes, for a router of the caller's; `/` redirects to the page. */
export const layer: Layer.Layer<never, never, HttpRouter.HttpRouter | RolloutReader | Auth.Auth> = Layer.mergeAll(
  V1.layerReading,
  ViewerPage.layer,
  ViewerPage.home
)

/** Listens until the scope closes; refuses to serve other machines without tokens unless `allowInsecure` is set. */
export const serve = (
  options: Server.Options & { readonly allowInsecure?: boolean }
): Layer.Layer<
  HttpServer.HttpServer,
  BearerTokens.AuthConfigError | Listening.ListenError | BrowserGuard.BrowserGuardError,
  RolloutReader | Auth.Auth
> =>
  Layer.unwrap(
    Effect.map(
      Auth.requireSafeBinding({ host: options.host, allowInsecure: options.allowInsecure ?? false }),
      ({ isRequired }) => Server.layer(layer, { ...options, asksForTokens: isRequired })
    )
  )
