/** Handles recorded metrics and settings. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { TrajectoryApi, TrajectoryApiError as ApiError } from "@atropos/core"
import * as Readings from "@atropos/core/service/Readings"
import { TrajectoryStore } from "../store/TrajectoryStore.ts"
import * as StoreFailures from "./StoreFailures.ts"

export const layer = HttpApiBuilder.group(
  TrajectoryApi.TrajectoryApi,
  "metrics",
  Effect.fnUntraced(function* (handlers) {
    const store = yield* TrajectoryStore
    return handlers.handleAll({
      record: Effect.fnUntraced(function* ({ params, payload }) {
        yield* StoreFailures.knownRun(store, params.run)
        const { leftOut, values } = Readings.decode(payload.values)
        const [bad] = Object.entries(leftOut)
        if (bad !== undefined && Object.keys(values).length === 0) {
          return yield* new ApiError.Invalid({ message: `${bad[0]}: ${bad[1]}`, field: `values.${bad[0]}` })
        }
        yield* Effect.catchTags(store.recordMetrics(params.run, { ...payload, values }), StoreFailures.plain)
        if (bad !== undefined) {
          yield* Effect.logWarning("metrics dropped", { run: params.run, source: payload.source, leftOut })
          return { leftOut }
        }
      }),
      recordSettings: Effect.fnUntraced(function* ({ params, payload }) {
        yield* StoreFailures.knownRun(store, params.run)
        yield* Effect.catchTags(store.recordSettings(params.run, payload), StoreFailures.plain)
      })
    })
  })
)
