/**
 * Routes as one application, with the router setting of all servers here: paths match exactly. Case, double slashes and
 * parameters (`;a=b`) are significant; a trailing slash is not. A guard's decision about a path thus applies to the
 * route that is found.
 */
import { Effect, type Layer, Result } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"

/** The value of the original's service. */
const routerConfig = { ignoreDuplicateSlashes: false, caseSensitive: true, ignoreTrailingSlash: true }

/**
 * The target as the router reads it literally: it ends a path at `;` and `#` as at `?`, and finds nothing, not even a
 * server's own 404, for escapes that are not UTF-8.
 */
const literal = (url: string): string => {
  const end = url.indexOf("?")
  const path = end < 0 ? url : url.slice(0, end)
  if (!/[;#%]/.test(path)) return url
  const isDecodable = Result.isSuccess(Result.try(() => decodeURIComponent(path)))
  const escaped = isDecodable ? path : path.replaceAll("%", "%25")
  return escaped.replaceAll(";", "%3B").replaceAll("#", "%23") + url.slice(path.length)
}

/** The handler of all requests; the caller provides the server. */
export const app = <A, E, R>(routes: Layer.Layer<A, E, R>) =>
  HttpRouter.toHttpEffect(routes).pipe(
    Effect.provideService(HttpRouter.RouterConfig, routerConfig),
    Effect.map(
      Effect.updateService(HttpServerRequest.HttpServerRequest, (request) => {
        const url = literal(request.url)
        return url === request.url ? request : request.modify({ url })
      })
    )
  )
