/**
 * The viewer over any `RolloutReader`: the page at `/ui`, and the endpoints it reads, those of the trajectory service,
 * under `/v1`.
 *
 * `TrajectoryService` has all of this too, over its own store; this is for rollouts that lie elsewhere (see
 * `RolloutReader`). There are no summaries and no environments' statuses here: 404 says so. Everything is GET, and
 * nothing changes what is read.
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

/** The routes, for a router of the caller's; `/` leads to the page. */
export const layer: Layer.Layer<never, never, HttpRouter.HttpRouter | RolloutReader | Auth.Auth> = Layer.mergeAll(
  V1.layerReading,
  ViewerPage.layer,
  ViewerPage.home
)

/** Listens until the scope closes; refuses to serve other machines without tokens unless told that this is meant. */
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
