/**
 * Restricts which web pages may call the service: those served from this machine, or the named origins.
 *
 * Allowed origins get the original's headers (credentials, any header, any method). Other origins get their reply
 * without CORS headers, and their preflights are refused.
 */
import { BrowserGuard } from "@atropos/core"
import { Effect, Layer } from "effect"
import { Headers, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"

/**
 * `"loopback"`: pages from localhost on any port; `"any"`: all, as the original; or a list such as
 * `["https://lab.example"]`.
 */
export type Origins = "loopback" | "any" | ReadonlyArray<string>

export const isAllowed = (origins: Origins, origin: string): boolean =>
  origins === "any" || (origins === "loopback" ? BrowserGuard.isLoopbackOrigin(origin) : origins.includes(origin))

const preflight = (request: HttpServerRequest.HttpServerRequest, allowed: boolean) =>
  HttpServerResponse.text(allowed ? "OK" : "Disallowed CORS origin", {
    status: allowed ? 200 : 400,
    headers: {
      "access-control-allow-methods": "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT",
      "access-control-allow-headers": request.headers["access-control-request-headers"] ?? "",
      "access-control-max-age": "600"
    }
  })

const allow = (response: HttpServerResponse.HttpServerResponse, origin: string) => {
  const vary = response.headers["vary"]
  return HttpServerResponse.setHeaders(
    response,
    Headers.fromInput({
      "access-control-allow-origin": origin,
      "access-control-allow-credentials": "true",
      vary: vary === undefined ? "Origin" : `${vary}, Origin`
    })
  )
}

export const layer = (origins: Origins): Layer.Layer<never, never, HttpRouter.HttpRouter> =>
  HttpRouter.middleware(
    (handler) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
        const origin = request.headers["origin"]
        if (origin === undefined) return handler
        const allowed = isAllowed(origins, origin)
        const isPreflight =
          request.method === "OPTIONS" && request.headers["access-control-request-method"] !== undefined
        const response = isPreflight ? Effect.succeed(preflight(request, allowed)) : handler
        return allowed ? Effect.map(response, (answered) => allow(answered, origin)) : response
      }),
    { global: true }
  )
