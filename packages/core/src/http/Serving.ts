/**
 * Routes as one application, with the one setting of routers that all servers here have: a path is what it is spelled.
 * Case counts, and so do double slashes; a slash at the end does not. What a guard says of a path holds for the route
 * that is found by it.
 */
import { Effect, type Layer } from "effect"
import { HttpRouter } from "effect/http"

/** As in the original's service. */
const routerConfig = { ignoreDuplicateSlashes: false, caseSensitive: true, ignoreTrailingSlash: true }

/** The handler of all requests; the caller provides the server. */
export const app = <A, E, R>(routes: Layer.Layer<A, E, R>) =>
  Effect.provideService(HttpRouter.toHttpEffect(routes), HttpRouter.RouterConfig, routerConfig)
