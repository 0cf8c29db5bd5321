/**
 * Routes as one application, with the router setting of all servers here: paths match exactly. Case and double slashes
 * are significant; a trailing slash is not. A guard's decision about a path thus applies to the route that is found.
 */
import { Effect, type Layer } from "effect"
import { HttpRouter } from "effect/http"

/** As in the original's service. */
const routerConfig = { ignoreDuplicateSlashes: false, caseSensitive: true, ignoreTrailingSlash: true }

/** The handler of all requests; the caller provides the server. */
export const app = <A, E, R>(routes: Layer.Layer<A, E, R>) =>
  Effect.provideService(HttpRouter.toHttpEffect(routes), HttpRouter.RouterConfig, routerConfig)
