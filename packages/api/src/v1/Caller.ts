/** Handles requests for the caller's own roles. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { TrajectoryApi } from "@atropos/core"
import { Auth, tokenOf } from "../http/Auth.ts"

const roles: ReadonlyArray<TrajectoryApi.Role> = ["environment", "trainer", "reader", "admin"]

export const layer = HttpApiBuilder.group(
  TrajectoryApi.TrajectoryApi,
  "caller",
  Effect.fnUntraced(function* (handlers) {
    const auth = yield* Auth
    return handlers.handleAll({
      get: ({ request }) =>
        Effect.filter(roles, (role) => Effect.isSuccess(auth.authorize(tokenOf(request), [role]))).pipe(
          Effect.map((roles) => ({ roles }))
        )
    })
  })
)
