/** Maps the original's endpoints to their handlers, over one run of the store. */
import { type Duration, Effect, type Scope } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import * as Reply from "../http/Reply.ts"
import { TrajectoryStore } from "../store/TrajectoryStore.ts"
import * as Queue from "./Queue.ts"
import type { Refusal } from "./Refusal.ts"
import * as Registration from "./Registration.ts"
import * as Status from "./Status.ts"

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

export interface Methods {
  readonly GET?: (request: Request) => Effect.Effect<Response, Refusal, Scope.Scope>
  readonly POST?: (request: Request) => Effect.Effect<Response, Refusal, Scope.Scope>
}

const always = (effect: Effect.Effect<Response, Refusal>) => () => effect

/** The handlers by path. Batches are leased for `lease`. */
export const make = Effect.fnUntraced(function* (
  run: string,
  lease: Duration.Input
): Effect.fn.Return<{ readonly [path: `/${string}`]: Methods }, never, TrajectoryStore | Scope.Scope> {
  const store = yield* TrajectoryStore
  const { disconnectEnvironment, info, register, registerEnvironment, wandbInfo } = Registration.make(store, run)
  const { batch, latestExample, reset, submitList, submitOne } = yield* Queue.make(run, lease)
  const { status, statusEnvironment } = Status.make(store, run)

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
