/**
 * Serves routes over HTTP on Node: connection settings, which web pages may call, and the original's answer to unknown
 * paths. A request that breaks an invariant is answered with an empty 500; what it was is in the log.
 *
 * It listens only when all routes are in place: a request that comes early is refused by the operating system, and does
 * not hang.
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
  /** 0: any free one. */
  readonly port: number
  /** Default: pages from this machine. */
  readonly origins?: Cors.Origins
  /** No page of the web gets past tokens: without them `BrowserGuard` stands at the door. */
  readonly asksForTokens?: boolean
}

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"] as const

/** Not for "*", which would take the HEAD of a known path away from its GET. */
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

/**
 * How long requests may take that are under way when the server closes; what would never end is ended at once
 * (`Closing`).
 */
const gracefulShutdownTimeout = "5 seconds"

/** The original's, wherever they are mounted; not a run or a saved state that is called so. */
const changingReads = /(?<!\/v1\/runs|\/state)\/(?:batch|reset_data)$/

/** Keeps pages of other sites from all routes of a router, where no tokens are asked for. */
export const guard = ({ asksForTokens = false, host, origins = "loopback" }: Omit<Options, "port">) =>
  asksForTokens
    ? Layer.empty
    : BrowserGuard.layer({
        host,
        tokens: "ATROPOS_TOKENS",
        changingReads,
        isAllowedOrigin: (origin) => Cors.isAllowed(origins, origin)
      })

/** Listens, and serves `routes` until the scope closes. The bound address is in `HttpServer`. */
export const layer = <A, E, R>(routes: Layer.Layer<A, E, R>, options: Options) =>
  Layer.unwrap(
    Effect.map(
      Serving.app(Layer.mergeAll(routes, notFound, guard(options), Cors.layer(options.origins ?? "loopback"))),
      (app) => {
        const closing = Deferred.makeUnsafe<void>()
        // Bodies come as few large chunks.
        const server = Listening.makeServer({ highWaterMark: 256 * 1024 })
        return Connections.closed(server, {
          listening: Listening.layer(server, { ...options, gracefulShutdownTimeout }),
          // For bodies too, which are written when the request has been handled.
          serving: Layer.provide(HttpServer.serve(logDefects(app)), Layer.succeed(Closing, Deferred.await(closing))),
          onClosing: Effect.asVoid(Deferred.succeed(closing, undefined))
        })
      }
    )
  )
