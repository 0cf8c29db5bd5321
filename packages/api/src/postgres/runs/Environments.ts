/** Manages the environments registered with a run. */
import type { TrajectoryApi } from "@atropos/core"
import { Clock, Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { TrajectoryStoreShape } from "../../store/TrajectoryStore.ts"
import type { Notifications } from "../base/Notifications.ts"
import * as Failure from "../base/Failure.ts"
import * as Rows from "../base/Rows.ts"
import * as Status from "../base/Status.ts"
import { environmentOf, viewOf, type RunStateCache } from "../base/RunStateCache.ts"
import type { LastSeen } from "./LastSeen.ts"

export type Environments = Pick<
  TrajectoryStoreShape,
  "registerEnvironment" | "disconnectEnvironment" | "environments" | "status"
>

export const make = Effect.fnUntraced(function* (
  runStates: RunStateCache,
  notifications: Notifications,
  lastSeen: LastSeen
): Effect.fn.Return<Environments, never, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient

  const registerEnvironment: Environments["registerEnvironment"] = Effect.fn("PgTrajectoryStore.registerEnvironment")(
    function* (name, spec) {
      const { run } = yield* viewOf(runStates, name)
      if (!run.registered || !run.started) return Option.none()
      const now = new Date(yield* Clock.currentTimeMillis)
      const registration = yield* Failure.inTransaction(
        sql,
        Effect.gen(function* () {
          // Ids and names are numbered, so registrations are serialised.
          const [current] = yield* sql<{ run: Rows.RunJson }>`
            select to_json(run) as run from run where id = ${run.id} and ended_at is null for no key update`
          if (current === undefined) return undefined
          const [added] = yield* sql<{ env_id: number; name: string }>`
            insert into env (
              run_id, env_id, desired_name, name, weight, group_size, max_token_length, min_batch_allocation, last_seen,
              registered_at
            )
            select ${run.id}, count(*)::int, ${spec.desiredName}::text,
              ${spec.desiredName}::text || '_' || count(*) filter (where desired_name = ${spec.desiredName}),
              ${spec.weight}::float8, ${spec.groupSize}, ${spec.maxTokenLength}::bigint, ${spec.minBatchAllocation}::float8,
              ${now}, ${now}
            from env where run_id = ${run.id}
            returning env_id, name`
          return { added: added!, run: Rows.toRun(current.run) }
        })
      )
      notifications.changed(name)
      return Option.map(Option.fromNullishOr(registration), ({ added, run }): TrajectoryApi.Registration => ({
        envId: added.env_id,
        name: added.name,
        startingStep: run.currentStep,
        numSteps: run.numSteps,
        checkpointDir: run.checkpointDir,
        checkpointInterval: run.saveCheckpointInterval
      }))
    },
    Effect.catchTag("UnknownRun", () => Effect.succeedNone),
    Failure.orStoreError
  )

  const disconnectEnvironment: Environments["disconnectEnvironment"] = Effect.fn(
    "PgTrajectoryStore.disconnectEnvironment"
  )(function* (name, envId) {
    const { view } = yield* environmentOf(runStates, name, envId)
    yield* sql`update env set is_connected = false where run_id = ${view.run.id} and env_id = ${envId}`
    notifications.changed(name)
  }, Failure.orStoreError)

  const environments: Environments["environments"] = Effect.fnUntraced(function* (name: string) {
    const view = yield* runStates.get(name)
    if (view === undefined) return []
    return view.environments.map((environment) => ({
      ...environment,
      lastSeen: Math.max(environment.lastSeen, lastSeen.of(view.run.id, environment.envId))
    }))
  }, Failure.orStoreError)

  const status: Environments["status"] = Effect.fnUntraced(function* (name: string, envId: number) {
    const { environment, view } = yield* environmentOf(runStates, name, envId)
    lastSeen.note(view.run.id, envId, yield* Clock.currentTimeMillis)
    const { groupSize, ...answer } = Status.status(view, environment)
    if (groupSize > environment.groupSize) {
      yield* sql`
        update env set group_size = ${groupSize}
        where run_id = ${view.run.id} and env_id = ${envId} and group_size < ${groupSize}`
      notifications.changed(name)
    }
    return answer
  }, Failure.orStoreError)

  return { registerEnvironment, disconnectEnvironment, environments, status }
})
