/**
 * Serves routes over HTTP on Node: connection settings, CORS, and the original's answer to unknown paths. A request
 * that breaks an invariant gets an empty 500; details are logged. Listens only once all routes are in place: earlier
 * requests are refused instead of hanging.
 */
import { BrowserGuard } from "@atropos/core"
import * as Connections from "@atropos/core/http/Connections"
import * as Listening from "@atropos/core/http/Listening"
import * as Serving from "@atropos/core/http/Serving"
import { Cause, Deferred, Effect, Layer } from "effect"
import { HttpRouter, HttpServer, HttpServerRequest } from "effect/http"
import { Closing } from "./Closing.ts"
import * as Cors from "./Cors.ts"
import * as Reply from "./Reply.ts"

export interface Options {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Default: pages from this machine. */
  readonly origins?: Cors.Origins
  /** Web pages cannot pass tokens; without tokens `BrowserGuard` is active. */
  readonly asksForTokens?: boolean
}

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"] as const

/** Not for "*", which would handle HEAD instead of the GET of a known path. */
const notFound = HttpRouter.addAll(
  methods.map((method) => HttpRouter.route(method, "/*", Reply.detail(404, "Not Found")))
)

const logDefects = Effect.tapCause((cause: Cause.Cause<unknown>) =>
  Cause.hasDies(cause)
    ? Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ method, url }) =>
        Effect.logError("request failed: internal error", { method, url }, cause)
      )
    : Effect.void
)

/** Time for running requests when the server closes; endless ones end immediately (`Closing`). */
const gracefulShutdownTimeout = "5 seconds"

/** The original's paths regardless of mounting, but not a run or saved state of that name. */
const changingReads = /(?<!\/v1\/runs|\/state)\/(?:batch|reset_data)$/

/** Protects all routes of a router from pages of other sites if no tokens are required. */
export const guard = ({ asksForTokens = false, host, origins = "loopback" }: Omit<Options, "port">) =>
  asksForTokens
    ? Layer.empty
    : BrowserGuard.layer({
        host,
        tokens: "ATROPOS_TOKENS",
        changingReads,
        isAllowedOrigin: (origin) => Cors.isAllowed(origins, origin)
      })

/** Listens and serves `routes` until the scope closes. The bound address is in `HttpServer`. */
export const layer = <A, E, R>(routes: Layer.Layer<A, E, R>, options: Options) =>
  Layer.unwrap(
    Effect.map(
      Serving.app(Layer.mergeAll(routes, notFound, guard(options), Cors.layer(options.origins ?? "loopback"))),
      (app) => {
        const closing = Deferred.makeUnsafe<void>()
        // Bodies arrive as few large chunks.
        const server = Listening.makeServer({ highWaterMark: 256 * 1024 })
        return Connections.closed(server, {
          listening: Listening.layer(server, { ...options, gracefulShutdownTimeout }),
          // Also covers bodies, which are written after the request has been handled.
          serving: Layer.provide(HttpServer.serve(logDefects(app)), Layer.succeed(Closing, Deferred.await(closing))),
          onClosing: Effect.asVoid(Deferred.succeed(closing, undefined))
        })
      }
    )
  )
