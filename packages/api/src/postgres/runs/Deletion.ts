/**
 * Deletes runs: the current one of a name and its ended ones, with their evaluations and saved states. They disappear
 * immediately; groups, metrics and batches are removed later in portions (`Retention`), and unreferenced objects with
 * the next sweeps (`ObjectSweep`).
 */
import { TrajectoryApiError } from "@atropos/core"
import * as TimeSpan from "@atropos/core/base/TimeSpan"
import { Clock, Duration, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type TrajectoryStoreShape, UnknownRun } from "../../store/TrajectoryStore.ts"
import type { Notifications } from "../base/Notifications.ts"
import * as Failure from "../base/Failure.ts"
import type { PayloadCache } from "../base/PayloadCache.ts"
import type { StoreClock } from "../base/StoreClock.ts"
import type { LastSeen } from "./LastSeen.ts"

export type Deletion = Pick<TrajectoryStoreShape, "deleteRun">

/** More recent activity means that the run is in use: trainers record every step, environments poll their status. */
const quiet = Duration.toMillis("1 minute")

const ago = (millis: number): string => `${TimeSpan.format(Math.max(0, millis / 1000))} ago`

interface Signs {
  readonly id: number
  readonly lease_owner: string | null
  readonly environments: ReadonlyArray<{ readonly id: number; readonly name: string; readonly seen: number }> | null
  readonly source: string | null
  readonly recorded: number | null
}

export const make = Effect.fnUntraced(function* (
  notifications: Notifications,
  cache: PayloadCache,
  clock: StoreClock,
  lastSeen: LastSeen
): Effect.fn.Return<Deletion, never, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient

  /** Describes the use of the current run; undefined if it is unused. */
  const useOf = ({ environments, id, lease_owner, recorded, source }: Signs, now: number): string | undefined => {
    if (lease_owner !== null) return `${lease_owner === "" ? "a trainer" : lease_owner} has leased a batch of it`
    for (const one of environments ?? []) {
      const seen = now - Math.max(one.seen, lastSeen.of(id, one.id))
      if (seen < quiet) return `its environment ${one.name} was heard from ${ago(seen)}`
    }
    return recorded !== null && now - recorded < quiet ? `${source} recorded metrics ${ago(now - recorded)}` : undefined
  }

  const deleteRun: Deletion["deleteRun"] = Effect.fn("PgTrajectoryStore.deleteRun")(function* (name) {
    const millis = yield* Clock.currentTimeMillis
    const now = new Date(millis)
    const leaseTime = new Date(yield* clock.now)
    yield* Failure.inTransaction(
      sql,
      Effect.gen(function* () {
        const runs = yield* sql<{ id: number; is_current: boolean }>`
          select id, ended_at is null as is_current from run where name = ${name} and deleted_at is null for update`
        if (runs.length === 0) return yield* new UnknownRun({ run: name })
        for (const { id } of runs.filter(({ is_current }) => is_current)) {
          const [signs] = yield* sql<Signs>`
            select run.id,
              (select lease_owner from batch where run_id = run.id and acked_at is null and lease_until > ${leaseTime}
                limit 1) as lease_owner,
              (select json_agg(json_build_object('id', env_id, 'name', name, 'seen', extract(epoch from last_seen) * 1000))
                from env where run_id = run.id and is_connected) as environments,
              newest.source, (extract(epoch from newest.recorded_at) * 1000)::float8 as recorded
            from run left join lateral (
              select source, recorded_at from metric where run_id = run.id order by metric.id desc limit 1
            ) as newest on true
            where run.id = ${id}`
          const use = signs === undefined ? undefined : useOf(signs, millis)
          if (use !== undefined) {
            return yield* new TrajectoryApiError.RunInUse({
              message: `run ${name} is in use (${use}): stop its processes and wait a minute, or reset it first (POST /v1/runs/${encodeURIComponent(name)}/reset)`
            })
          }
        }
        yield* sql`
          update run set deleted_at = ${now}, ended_at = coalesce(ended_at, greatest(${now}, created_at))
          where name = ${name} and deleted_at is null`
        // An open batch counts as consumed, and its token becomes invalid.
        yield* sql`
          update batch set acked_at = ${now}, lease_until = null, lease_token = gen_random_uuid()
          from run where run.id = batch.run_id and run.name = ${name} and run.deleted_at is not null and acked_at is null`
        yield* sql`
          delete from queued using run where run.id = queued.run_id and run.name = ${name} and run.deleted_at is not null`
        yield* sql`delete from env_state where run_name = ${name}`
        yield* sql`delete from evaluation where run_name = ${name}`
      })
    )
    cache.clear()
    notifications.changed(name)
  }, Failure.orStoreError)

  return { deleteRun }
})
