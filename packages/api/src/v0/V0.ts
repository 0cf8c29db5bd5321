/**
 * Implements the original's endpoints, request for request and response for response, over one run, for unmodified
 * Python environments and trainers. Source: atroposlib/api/server.py.
 *
 * Adds routes to the `HttpRouter` in the context, optionally under a prefix. In cases where the original loses data or
 * fails, this behaves as a healthy server would; docs/protocol.md lists all differences. Batches are served oldest
 * first; one is acknowledged when its reply is written, and requeued if the connection broke before.
 */
import { type Duration, Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import type { TrajectoryStore } from "../store/TrajectoryStore.ts"
import * as Endpoints from "./Endpoints.ts"
import { refuse } from "./Refusal.ts"
import * as Reply from "../http/Reply.ts"

export interface Options {
  /** The run of these endpoints. Default: "default". */
  readonly run?: string
  /** Path prefix of the endpoints. Default: the root. */
  readonly prefix?: `/${string}`
  /** Max time to write a reply before its batch goes to another client. */
  readonly lease?: Duration.Input
}

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"] as const
const methodNotAllowed = Reply.detail(405, "Method Not Allowed")

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
          // The keys above all begin with a slash.
          yield* router.add(method, path as `/${string}`, (request) =>
            // The router dispatches HEAD to GET; the original has none, and a HEAD must not consume a batch.
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
