/**
 * Grants permits to start rollouts if a run's environments wait at a staleness bound (`StalenessBound`). Requests are
 * serialised across processes, so that together they never get more than the bound allows.
 */
import { StalenessBound } from "@atropos/core"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { TrajectoryStoreShape } from "../../store/TrajectoryStore.ts"
import type { Notifications } from "../base/Notifications.ts"
import * as Failure from "../base/Failure.ts"
import * as Rows from "../base/Rows.ts"
import { environmentOf, silenceMillis, type RunStateCache } from "../base/RunStateCache.ts"

export type RolloutPermits = Pick<TrajectoryStoreShape, "begin">

type RollerJson = Rows.EnvironmentJson & { readonly under_way: number }

interface BoundRow {
  readonly untrained: bigint
  readonly queued: ReadonlyArray<{ readonly sequences: number; readonly groups: number }> | null
  readonly rolling: ReadonlyArray<RollerJson> | null
  readonly policy_version: bigint | null
}

const toRoller = (row: RollerJson): StalenessBound.Roller => ({ ...Rows.toEnvironment(row), underWay: row.under_way })

export const make = Effect.fnUntraced(function* (
  runStates: RunStateCache,
  notifications: Notifications
): Effect.fn.Return<RolloutPermits, never, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient

  /** Reads the state of the bound under a lock that serialises permits. */
  const look = Effect.fnUntraced(function* (runId: number, envId: number, now: number) {
    yield* sql`select from run where id = ${runId} for no key update`
    const [row] = yield* sql<BoundRow>`
      select
        (select policy_version from run where id = ${runId}) as policy_version,
        (select count(*) from batch where run_id = ${runId} and acked_at is null and not is_trained) as untrained,
        (select json_agg(queued) from queued where run_id = ${runId} and groups > 0) as queued,
        (
          select json_agg(env) from env
          where run_id = ${runId} and is_connected and env_id <> ${envId}
            and last_seen >= ${new Date(now - silenceMillis)}
        ) as rolling`
    return row!
  })

  const begin: RolloutPermits["begin"] = Effect.fn("PgTrajectoryStore.begin")(function* (
    name,
    envId,
    { more, underWay }
  ) {
    const { environment, view } = yield* environmentOf(runStates, name, envId)
    const { batchSize, id, waitAtStaleness = null } = view.run
    if (waitAtStaleness === null) return { granted: more }
    const now = yield* Clock.currentTimeMillis
    const begun = yield* Failure.inTransaction(
      sql,
      Effect.gen(function* () {
        const { policy_version, queued, rolling, untrained } = yield* look(id, envId, now)
        const granted = StalenessBound.granted(
          { maxStaleness: waitAtStaleness, batchSize, untrained: Number(untrained), queued: queued ?? [] },
          { ...environment, underWay },
          (rolling ?? []).map(toRoller),
          more
        )
        yield* sql`
          update env set under_way = ${underWay + granted}, last_seen = greatest(last_seen, ${new Date(now)})
          where run_id = ${id} and env_id = ${envId}`
        return { granted, ...(policy_version !== null && { policyVersion: Number(policy_version) }) }
      })
    )
    notifications.counted(name)
    return begun
  }, Failure.orStoreError)

  return { begin }
})
