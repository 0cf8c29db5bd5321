/** Reads runs, batches, settings and token text for the viewer. */
import type { TrajectoryApi } from "@atropos/core"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { RolloutReaderShape } from "../../store/RolloutReader.ts"
import * as Failure from "../base/Failure.ts"
import * as Rows from "../base/Rows.ts"
import type { StoreClock } from "../base/StoreClock.ts"
import type { RunNames } from "../base/RunNames.ts"
import type { Activities } from "./Activities.ts"

export type Reading = Pick<RolloutReaderShape, "runs" | "pieces" | "settings" | "batches">

const maxBatches = 100
/** Max runs, the most recently active ones, whose activity is determined. */
const maxActivities = 100
/** Environments that reconnect register again each time. */
const maxSources = 200

interface BatchRead {
  readonly id: bigint
  readonly step: bigint
  readonly sequences: number
  readonly groups: number
  readonly lease_owner: string
  readonly lease_until: Date | null
  readonly deliveries: number
  readonly created_at: Date
  readonly acked_at: Date | null
}

export const make = Effect.fnUntraced(function* (
  names: RunNames,
  clock: StoreClock,
  activities: Activities
): Effect.fn.Return<Reading, never, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient

  const runs: Reading["runs"] = sql<{ run: Rows.RunJson; ended: boolean }>`
    select to_json(newest) as run, ended_at is not null as ended from (
      select distinct on (name) * from run where deleted_at is null order by name, ended_at is null desc, id desc
    ) as newest
    order by ended_at is not null, greatest(
      created_at,
      (select recorded_at from metric where run_id = newest.id order by id desc limit 1),
      (select grp.created_at from grp where run_id = newest.id order by id desc limit 1),
      (select max(last_seen) from env where run_id = newest.id)
    ) desc, id desc`.pipe(
    Effect.flatMap((rows) =>
      Effect.map(activities(rows.slice(0, maxActivities).map(({ run }) => run.id)), (known) =>
        rows.map(({ ended, run }): TrajectoryApi.RunRow => {
          const activity = known.get(run.id)
          return { ...Rows.toRun(run), ended, ...(activity && { activity }) }
        })
      )
    ),
    Failure.orStoreError
  )

  const pieces: Reading["pieces"] = Effect.fn("RolloutReader.pieces")(function* (run, target) {
    const { ids } = yield* names.idsOf(run)
    const rows = yield* sql<{ token_id: number; text: string }>`
      select distinct on (token_id) token_id, text from piece
      where run_id = any(${Rows.array("int4", ids)}::int[])
        ${target === undefined ? sql`` : sql`and token_id = any(${Rows.array("int4", target)}::int[])`}
      order by token_id, run_id desc`
    return new Map(rows.map(({ text, token_id }) => [token_id, text]))
  }, Failure.orStoreError)

  const settings: Reading["settings"] = Effect.fn("RolloutReader.settings")(function* (name) {
    const { latest } = yield* names.idsOf(name)
    const rows = yield* sql<{
      source: string
      kind: TrajectoryApi.SourceSettings["kind"]
      settings: TrajectoryApi.SourceSettings["settings"]
      recorded_at: Date
    }>`
      select source, kind, settings, recorded_at from run_setting where run_id = ${latest}
      order by kind = 'trainer' desc, recorded_at desc, source limit ${maxSources}`
    return rows.map(({ recorded_at, ...row }) => ({ ...row, at: recorded_at.getTime() }))
  }, Failure.orStoreError)

  const batches: Reading["batches"] = Effect.fn("RolloutReader.batches")(function* (name) {
    const { latest } = yield* names.idsOf(name)
    const now = yield* clock.now
    const rows = yield* sql<BatchRead>`
      select id, step, sequences, lease_owner, lease_until, deliveries, created_at, acked_at, groups
      from batch where run_id = ${latest} order by step desc limit ${maxBatches}`
    return rows.map((row): TrajectoryApi.BatchRow => {
      const leaseUntil = row.lease_until?.getTime() ?? null
      const isLeased = leaseUntil !== null && leaseUntil > now
      return {
        id: String(row.id),
        step: Rows.toInt(row.step),
        sequences: row.sequences,
        groups: row.groups,
        state: row.acked_at === null ? (isLeased ? "leased" : "free") : "acked",
        leaseOwner: row.lease_owner,
        leaseUntil,
        deliveries: row.deliveries,
        createdAt: row.created_at.getTime(),
        ackedAt: row.acked_at?.getTime() ?? null
      }
    })
  }, Failure.orStoreError)

  return { runs, pieces, settings, batches }
})
