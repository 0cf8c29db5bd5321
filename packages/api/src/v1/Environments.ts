/** Handles a run's environments, their status, and their saved state. */
import { Effect, Option } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { TrajectoryApi, TrajectoryApi as Wire, TrajectoryApiError as ApiError } from "@atropos/core"
import * as StatusChanges from "../store/StatusChanges.ts"
import { TrajectoryStore } from "../store/TrajectoryStore.ts"
import * as Events from "../http/Events.ts"
import * as StoreFailures from "./StoreFailures.ts"

export const layer = HttpApiBuilder.group(
  TrajectoryApi.TrajectoryApi,
  "environments",
  Effect.fnUntraced(function* (handlers) {
    const store = yield* TrajectoryStore
    const status = (run: string, envId: number) =>
      store.status(run, envId).pipe(Effect.catchTags(StoreFailures.ofEnvironment))
    const statuses = yield* Events.shared(
      "status",
      Wire.EnvironmentStatus,
      ({ envId, run }: { readonly run: string; readonly envId: number }, listeners) =>
        StatusChanges.ofEnvironment(store, run, envId, listeners)
    )

    return handlers.handleAll({
      // A run without a registered trainer is answered by "waiting": environments often start before their trainer.
      register: ({ params, payload }) =>
        store.registerEnvironment(params.run, payload).pipe(
          Effect.catchTags(StoreFailures.plain),
          Effect.map(
            Option.match({
              onNone: (): Wire.RegistrationAnswer => ({ status: "waiting" }),
              onSome: (registration): Wire.RegistrationAnswer => ({ status: "registered", ...registration })
            })
          )
        ),
      disconnect: ({ params }) =>
        store.disconnectEnvironment(params.run, params.envId).pipe(Effect.catchTags(StoreFailures.ofEnvironment)),
      status: ({ params }) => status(params.run, params.envId),
      events: ({ params }) =>
        Effect.map(status(params.run, params.envId), () => statuses({ run: params.run, envId: params.envId })),
      begin: ({ params, payload }) =>
        store.begin(params.run, params.envId, payload).pipe(Effect.catchTags(StoreFailures.ofEnvironment)),
      report: ({ params, payload }) =>
        store.recordReport(params.run, params.envId, payload).pipe(Effect.catchTags(StoreFailures.ofEnvironment)),
      loadState: ({ params }) =>
        store.loadState(params.run, params.environment).pipe(
          Effect.catchTags(StoreFailures.plain),
          Effect.flatMap(
            Option.match({
              onNone: () =>
                Effect.fail(
                  new ApiError.NotFound({
                    message: `run ${params.run} has no saved state of environment ${params.environment}`
                  })
                ),
              onSome: Effect.succeed
            })
          )
        ),
      saveState: ({ params, payload }) =>
        store.saveState(params.run, params.environment, payload).pipe(Effect.catchTags(StoreFailures.plain))
    })
  })
)
