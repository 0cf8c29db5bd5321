/** Handlers: metrics of steps in. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { TrajectoryApi } from "@atropos/core"
import { TrajectoryStore } from "../TrajectoryStore.ts"
import * as StoreFailures from "./StoreFailures.ts"

export const layer = HttpApiBuilder.group(
  TrajectoryApi.TrajectoryApi,
  "metrics",
  Effect.fnUntraced(function* (handlers) {
    const store = yield* TrajectoryStore
    return handlers.handleAll({
      record: ({ params, payload }) =>
        Effect.andThen(
          StoreFailures.knownRun(store, params.run),
          Effect.catchTags(store.recordMetrics(params.run, payload), StoreFailures.plain)
        )
    })
  })
)
