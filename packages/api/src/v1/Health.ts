/** Handles liveness of the service and readiness of its database. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { TrajectoryApi } from "@atropos/core"
import { TrajectoryStore } from "../store/TrajectoryStore.ts"
import * as StoreFailures from "./StoreFailures.ts"

export const layer = HttpApiBuilder.group(
  TrajectoryApi.TrajectoryApi,
  "health",
  Effect.fnUntraced(function* (handlers) {
    const store = yield* TrajectoryStore
    return handlers.handleAll({
      live: () => Effect.succeed({ status: "live", api: "v1" } as const),
      ready: () =>
        store.ready.pipe(Effect.as({ status: "ready", api: "v1" } as const), Effect.catchTags(StoreFailures.plain))
    })
  })
)
