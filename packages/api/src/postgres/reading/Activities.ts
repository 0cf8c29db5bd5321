/** Determines if runs are making progress, from the latest traces of their trainers and environments. */
import type { TrajectoryApi } from "@atropos/core"
import { Activity } from "@atropos/core/health/Health"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import * as Rows from "../base/Rows.ts"
import type { StoreClock } from "../base/StoreClock.ts"
import type { LastSeen } from "../runs/LastSeen.ts"

export type Activities = (
  ids: ReadonlyArray<number>
) => Effect.Effect<ReadonlyMap<number, (typeof TrajectoryApi.RunActivity)["Type"]>, SqlError>

/** Environments record one row per step, so the trainer's are among these unless there are dozens of environments. */
const newestRows = 64
const newestBatches = 16
/** An environment that restarts registers again. */
const newestEnvironments = 50

interface Traces {
  readonly id: number
  readonly ended: boolean
  readonly total_steps: number
  readonly created: number
  readonly started: number | null
  readonly trainer_seen: number | null
  readonly group_at: number | null
  readonly rows: ReadonlyArray<{ readonly source: string; readonly step: number; readonly at: number }> | null
  readonly batches: ReadonlyArray<{
    readonly step: number
    readonly created: number
    readonly acked: number | null
    readonly until: number | null
  }> | null
  readonly environments: ReadonlyArray<{
    readonly id: number
    readonly name: string
    readonly connected: boolean
    readonly seen: number
    readonly reported: number | null
    readonly running: number | null
    readonly last_error: { readonly at: number; readonly message: string } | null
    readonly healthy: boolean | null
  }> | null
}

/** `skew`: how far the clock of leases is ahead of the clock of all other times. */
const signsOf = (traces: Traces, skew: number, lastSeen: LastSeen): Activity.Signs => {
  const rows = traces.rows ?? []
  const batches = traces.batches ?? []
  const trained = rows.filter(({ source }) => source === "trainer")
  const open = batches.find(({ acked, until }) => acked === null && until !== null)
  const acked = batches.filter((batch) => batch.acked !== null)
  // Third-party trainers record no metrics: their batches count as steps.
  const steps =
    trained.length > 0
      ? trained.map(({ at, step }) => ({ at, step }))
      : acked.map(({ acked, created, step }) => ({ at: acked ?? created, step }))
  return {
    ended: traces.ended,
    startedAt: Math.max(traces.created, traces.started ?? 0),
    totalSteps: traces.total_steps,
    step: steps[0]?.step ?? null,
    stepTimes: steps.map(({ at }) => at),
    recordedAt: rows[0]?.at ?? null,
    groupAt: traces.group_at,
    trainerSeenAt: Math.max(traces.trainer_seen ?? 0, lastSeen.ofTrainer(traces.id)) || null,
    lease: open === undefined ? null : { step: open.step, until: open.until! - skew },
    environments: (traces.environments ?? []).map((one) => ({
      name: one.name,
      connected: one.connected,
      heardAt: Math.max(one.seen, one.reported ?? 0, lastSeen.of(traces.id, one.id)),
      hasReport: one.reported !== null,
      running: one.running ?? 0,
      lastError: one.last_error,
      isWithoutServers: one.healthy === false
    }))
  }
}

export const make = Effect.fnUntraced(function* (
  clock: StoreClock,
  lastSeen: LastSeen
): Effect.fn.Return<Activities, never, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  const read = (ids: ReadonlyArray<number>) => sql<Traces>`
    select run.id, ended_at is not null as ended, num_steps::float8 as total_steps,
      extract(epoch from run.created_at)::float8 * 1000 as created,
      extract(epoch from trainer_seen)::float8 * 1000 as trainer_seen,
      (select extract(epoch from max(at))::float8 * 1000 from (
        select recorded_at as at from run_setting where run_id = run.id
        union all select registered_at from env where run_id = run.id
      ) as starts) as started,
      (select extract(epoch from created_at)::float8 * 1000 from grp where run_id = run.id order by id desc limit 1)
        as group_at,
      (select json_agg(newest) from (
        select source, step, extract(epoch from recorded_at)::float8 * 1000 as at from metric
        where run_id = run.id order by id desc limit ${newestRows}
      ) as newest) as rows,
      (select json_agg(newest) from (
        select step, extract(epoch from created_at)::float8 * 1000 as created,
          extract(epoch from acked_at)::float8 * 1000 as acked, extract(epoch from lease_until)::float8 * 1000 as until
        from batch where run_id = run.id order by step desc limit ${newestBatches}
      ) as newest) as batches,
      (select json_agg(newest) from (
        select env_id as id, name, is_connected as connected, extract(epoch from last_seen)::float8 * 1000 as seen,
          extract(epoch from reported_at)::float8 * 1000 as reported, (report->>'running')::float8 as running,
          report->'lastError' as last_error,
          (select bool_or((server->>'healthy')::bool) from json_array_elements(report->'servers') as server) as healthy
        from env left join env_report using (run_id, env_id)
        where run_id = run.id order by env_id desc limit ${newestEnvironments}
      ) as newest) as environments
    from run where run.id = any(${Rows.array("int4", ids)}::int[])`
  return Effect.fnUntraced(function* (ids: ReadonlyArray<number>) {
    if (ids.length === 0) return new Map()
    const rows = yield* read(ids)
    const now = yield* Clock.currentTimeMillis
    const skew = (yield* clock.now) - now
    return new Map(rows.map((row) => [row.id, Activity.of(signsOf(row, skew, lastSeen), now)]))
  })
})
