/**
 * The original's endpoints, request for request and response for response, over one run.
 *
 * A layer that adds routes to the `HttpRouter` at hand, under a prefix where one is given. Unmodified Python
 * environments and trainers connect to it. Where the original loses data or fails, this does what a healthy server
 * would do; every difference is listed in docs/protocol.md. Batches are served oldest first; one is acknowledged when
 * its reply was written, and given back when the connection broke before.
 *
 * Source: atroposlib/api/server.py.
 */
import { type Duration, Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import type { TrajectoryStore } from "../store/TrajectoryStore.ts"
import * as Endpoints from "./Endpoints.ts"
import { refuse } from "./Refusal.ts"
import * as Reply from "../http/Reply.ts"

export interface Options {
  /** The run these endpoints speak of; "default" where none is named. */
  readonly run?: string
  /** Path under which the endpoints lie; they lie at the root where none is given. */
  readonly prefix?: `/${string}`
  /** How long a reply may take to be written before its batch goes to somebody else. */
  readonly lease?: Duration.Input
}

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"] as const
const methodNotAllowed = Reply.detail(405, "Method Not Allowed")

/** Adds the endpoints to the router. */
export const layer = (options: Options = {}): Layer.Layer<never, never, HttpRouter.HttpRouter | TrajectoryStore> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const root = yield* HttpRouter.HttpRouter
      const router = options.prefix === undefined ? root : root.prefixed(options.prefix)
      const endpoints: { readonly [path: string]: Endpoints.Methods } = yield* Endpoints.make(
        options.run ?? "default",
        options.lease ?? "60 seconds"
      )
      for (const [path, handlers] of Object.entries(endpoints)) {
        for (const method of methods) {
          const handler = method === "GET" || method === "POST" ? handlers[method] : undefined
          // The keys are written above, each with its slash.
          yield* router.add(method, path as `/${string}`, (request) =>
            // The router takes HEAD to GET; the original has none, and a HEAD must not take a batch.
            handler === undefined || request.method === "HEAD"
              ? Effect.succeed(methodNotAllowed)
              : handler(request).pipe(
                  Effect.catch(refuse),
                  Effect.flatMap((response) => Reply.compressed(request, response))
                )
          )
        }
      }
    })
  )
