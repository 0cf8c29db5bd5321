/**
 * Implements the original's endpoints, request for request and response for response, over one run, for unmodified
 * Python environments and trainers. Source: atroposlib/api/server.py.
 *
 * Adds routes to the `HttpRouter` in the context, optionally under a prefix. In cases where the original loses data or
 * fails, this behaves as a healthy server would; docs/protocol.md lists all differences. Batches are served oldest
 * first; one is acknowledged when its reply is written, and requeued if the connection broke before.
 */
import { type Duration, Effect, Layer, type Scope } from "effect"
import { HttpRouter, type HttpServerRequest, type HttpServerResponse } from "effect/http"
import { TrajectoryStore, type TrajectoryStoreShape } from "../store/TrajectoryStore.ts"
import { type Refusal, refuse } from "./Refusal.ts"
import * as Reply from "../http/Reply.ts"
import * as Queue from "./Queue.ts"
import * as Registration from "./Registration.ts"
import { WireForm } from "@atropos/core"
import * as EnvironmentIds from "./EnvironmentIds.ts"
import { form } from "./Reading.ts"

/**
 * Maps the original's endpoints to their handlers, over one run of the store.
 * Implements the original's endpoints for the queue status.
 */
type StatusRequest = HttpServerRequest.HttpServerRequest

const makeStatus = (store: TrajectoryStoreShape, run: string) => {
  const status = Effect.map(store.summary(run), ({ currentStep, queuedGroups }) =>
    Reply.json({ current_step: currentStep, queue_size: queuedGroups })
  )

  /** The id is in the body of the GET, as the original's environments send it, or in `?env_id=`. */
  const statusEnvironment = (request: StatusRequest) => {
    const query = /[?&]env_id=(-?\d+)(?:&|$)/.exec(request.url)?.[1]
    const requestedId = query === undefined ? form(request, WireForm.environmentId) : Effect.succeed(Number(query))
    return Effect.flatMap(requestedId, (id) =>
      Effect.flatMap(EnvironmentIds.resolve(store, run, id), (envId) => store.status(run, envId)).pipe(
        Effect.map((answer) =>
          Reply.json({
            current_step: answer.currentStep,
            queue_size: answer.queueSize,
            unallocated_fraction: answer.unallocatedFraction,
            self_queue_size: answer.selfQueueSize,
            max_group_size: answer.maxGroupSize,
            env_weight: answer.envWeight
          })
        ),
        Effect.catchTag("UnknownEnvironment", () =>
          Effect.succeed(Reply.detail(404, `no environment with id ${id}: register one with POST /register-env`))
        )
      )
    )
  }

  return { status, statusEnvironment }
}

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

interface Methods {
  readonly GET?: (request: Request) => Effect.Effect<Response, Refusal, Scope.Scope>
  readonly POST?: (request: Request) => Effect.Effect<Response, Refusal, Scope.Scope>
}

const always = (effect: Effect.Effect<Response, Refusal>) => () => effect

/** The handlers by path. Batches are leased for `lease`. */
const makeEndpoints = Effect.fnUntraced(function* (
  run: string,
  lease: Duration.Input
): Effect.fn.Return<{ readonly [path: `/${string}`]: Methods }, never, TrajectoryStore | Scope.Scope> {
  const store = yield* TrajectoryStore
  const { disconnectEnvironment, info, register, registerEnvironment, wandbInfo } = Registration.make(store, run)
  const { batch, latestExample, reset, submitList, submitOne } = yield* Queue.make(run, lease)
  const { status, statusEnvironment } = makeStatus(store, run)

  return {
    "/": { GET: always(Effect.succeed(Reply.json({ message: "AtroposLib API" }))) },
    "/register": { POST: register },
    "/register-env": { POST: registerEnvironment },
    "/disconnect-env": { POST: disconnectEnvironment },
    "/scored_data": { POST: submitOne },
    "/scored_data_list": { POST: submitList },
    "/batch": { GET: batch },
    "/status": { GET: always(status) },
    "/status-env": { GET: statusEnvironment },
    "/wandb_info": { GET: always(wandbInfo) },
    "/info": { GET: always(info) },
    "/latest_example": { GET: always(latestExample) },
    "/reset_data": { GET: always(reset), POST: always(reset) }
  }
})

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
      const endpoints: { readonly [path: string]: Methods } = yield* makeEndpoints(
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
