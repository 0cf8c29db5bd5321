/** Handles training runs and their queue summaries. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { TrajectoryApi, TrajectoryApi as Wire } from "@atropos/core"
import * as StatusChanges from "../store/StatusChanges.ts"
import { TrajectoryStore } from "../store/TrajectoryStore.ts"
import * as Events from "../http/Events.ts"
import * as StoreFailures from "./StoreFailures.ts"

export const layer = HttpApiBuilder.group(
  TrajectoryApi.TrajectoryApi,
  "runs",
  Effect.fnUntraced(function* (handlers) {
    const store = yield* TrajectoryStore
    const summaries = yield* Events.shared("summary", Wire.QueueSummary, (run: string, listeners) =>
      StatusChanges.ofRun(store, run, listeners)
    )
    return handlers.handleAll({
      create: ({ payload }) => store.registerRun(payload).pipe(Effect.catchTags(StoreFailures.plain)),
      get: ({ params }) => StoreFailures.knownRun(store, params.run),
      reset: ({ params }) =>
        Effect.andThen(
          StoreFailures.knownRun(store, params.run),
          store.reset(params.run).pipe(Effect.catchTags(StoreFailures.plain))
        ),
      delete: ({ params }) => store.deleteRun(params.run).pipe(Effect.catchTags(StoreFailures.ofReading)),
      summary: ({ params }) =>
        Effect.andThen(
          StoreFailures.knownRun(store, params.run),
          store.summary(params.run).pipe(Effect.catchTags(StoreFailures.plain))
        ),
      events: ({ params }) => Effect.map(StoreFailures.knownRun(store, params.run), ({ name }) => summaries(name))
    })
  })
)
