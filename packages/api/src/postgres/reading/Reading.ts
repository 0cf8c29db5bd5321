/** What people read beside the groups: runs, metrics, environments, batches, the text of tokens. */
import * as Readings from "@atropos/core/service/Readings"
import { Clock, Effect, Option, Stream } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { BatchRow, MetricsRow, ReadEnvironment, RolloutReaderShape } from "../../store/RolloutReader.ts"
import type { TrajectoryStoreShape } from "../../store/TrajectoryStore.ts"
import { type Changes, metricsOf } from "../base/Changes.ts"
import * as Failure from "../base/Failure.ts"
import * as Rows from "../base/Rows.ts"
import type { StoreClock } from "../base/StoreClock.ts"
import type { RunNames } from "../base/RunNames.ts"

export type Reading = Omit<RolloutReaderShape, "rollouts" | "rollout">

const mostBatches = 100
/** Batches that an environment's share is of. */
const recentBatches = 20
const rateMillis = 60_000
/** Groups looked at for the rate: where there are more in a minute, it is that of the last so many. */
const rateGroups = 5000
/** Rows of metrics in one event. */
const rowsAtOnce = 500

interface MetricRow {
  readonly id: bigint
  readonly source: string
  readonly step: bigint
  readonly recorded_at: Date
  readonly readings: { readonly [name: string]: number | string }
}

const toMetrics = ({ id, readings, recorded_at, source, step }: MetricRow): MetricsRow => ({
  id: String(id),
  source,
  step: Rows.toInt(step),
  at: recorded_at.getTime(),
  values: Readings.decode(readings).values
})

interface EnvironmentRead {
  readonly env: Rows.EnvironmentJson
  readonly report: Omit<NonNullable<ReadEnvironment["report"]>, "at"> | null
  readonly reported_at: Date | null
}

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
  changes: Changes,
  store: Pick<TrajectoryStoreShape, "environments">,
  clock: StoreClock
): Effect.fn.Return<Reading, never, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient

  const runs: Reading["runs"] = sql<{ run: Rows.RunJson; ended: boolean }>`
    select to_json(newest) as run, ended_at is not null as ended from (
      select distinct on (name) * from run order by name, ended_at is null desc, id desc
    ) as newest
    order by ended_at is not null, greatest(
      created_at,
      (select recorded_at from metric where run_id = newest.id order by id desc limit 1),
      (select grp.created_at from grp where run_id = newest.id order by id desc limit 1),
      (select max(last_seen) from env where run_id = newest.id)
    ) desc, id desc`.pipe(
    Effect.map((rows) => rows.map(({ ended, run }) => ({ ...Rows.toRun(run), ended }))),
    Failure.orStoreError
  )

  const pieces: Reading["pieces"] = Effect.fn("RolloutReader.pieces")(function* (run, wanted) {
    const { ids } = yield* names.idsOf(run)
    const rows = yield* sql<{ token_id: number; text: string }>`
      select distinct on (token_id) token_id, text from piece
      where run_id = any(${Rows.array("int4", ids)}::int[])
        ${wanted === undefined ? sql`` : sql`and token_id = any(${Rows.array("int4", wanted)}::int[])`}
      order by token_id, run_id desc`
    return new Map(rows.map(({ text, token_id }) => [token_id, text]))
  }, Failure.orStoreError)

  const metricsAfter = (run: number, after: string | undefined, limit: number, more = sql``) => sql<MetricRow>`
    select id, source, step, recorded_at, readings from metric
    where run_id = ${run} ${after === undefined ? sql`` : sql`and id > ${after}::bigint`} ${more}
    order by id limit ${limit}`

  const metrics: Reading["metrics"] = Effect.fn("RolloutReader.metrics")(function* (run, filter) {
    const { after, fromStep, limit, source } = filter
    const { latest } = yield* names.idsOf(run)
    const found = yield* metricsAfter(
      latest,
      after,
      limit + 1,
      sql`${source === undefined ? sql`` : sql`and source = ${source}`} ${fromStep === undefined ? sql`` : sql`and step >= ${fromStep}`}`
    )
    const rows = found.slice(0, limit).map(toMetrics)
    return { metrics: rows, next: found.length > limit ? (rows.at(-1)?.id ?? null) : null }
  }, Failure.orStoreError)

  const metricsToCome: Reading["metricsToCome"] = Effect.fn("RolloutReader.metricsToCome")(function* (run, after) {
    // Listens before it looks for the last row: what comes in between is told.
    const told = changes.stream(metricsOf(run))
    const { latest } = yield* names.idsOf(run)
    const [newest] =
      after === undefined
        ? yield* sql<{ id: bigint | null }>`select max(id) as id from metric where run_id = ${latest}`
        : []
    return Stream.suspend(() => {
      let last = after ?? String(newest?.id ?? 0)
      const page = Effect.gen(function* () {
        const { latest } = yield* names.idsOf(run)
        const rows = (yield* metricsAfter(latest, last, rowsAtOnce)).map(toMetrics)
        last = rows.at(-1)?.id ?? last
        return [rows, rows.length < rowsAtOnce ? Option.none<void>() : Option.some<void>(undefined)] as const
      }).pipe(
        Effect.catchTag("UnknownRun", () => Effect.succeed([[], Option.none<void>()] as const)),
        Failure.orStoreError
      )
      return Stream.make(undefined).pipe(
        Stream.merge(told),
        Stream.buffer({ capacity: 1, strategy: "sliding" }),
        Stream.flatMap(() =>
          Stream.paginate(undefined, () => Effect.map(page, ([rows, next]) => [[rows], next] as const))
        ),
        Stream.filter((rows) => rows.length > 0)
      )
    })
  }, Failure.orStoreError)

  /** Of the last batches, sequences by environment. */
  const sharesOf = (run: number): Effect.Effect<ReadonlyMap<number, number>, SqlError> =>
    sql<{ env_id: number; sequences: number }>`
      select env_id, sum(grp.sequences)::int as sequences
      from (select id from batch where run_id = ${run} order by step desc limit ${recentBatches}) as recent
        join grp on grp.batch_id = recent.id
      group by env_id`.pipe(
      Effect.map((rows) => {
        const all = rows.reduce((sum, { sequences }) => sum + sequences, 0)
        return new Map(rows.map(({ env_id, sequences }) => [env_id, all === 0 ? 0 : sequences / all]))
      })
    )

  /** Sequences a minute, by environment. */
  const ratesOf = (run: number, now: number): Effect.Effect<ReadonlyMap<number, number>, SqlError> =>
    sql<{ env_id: number; sequences: number; groups: number; oldest: Date }>`
      select env_id, sum(sequences)::int as sequences, count(*)::int as groups, min(created_at) as oldest
      from (
        select env_id, sequences, created_at from grp where run_id = ${run} order by id desc limit ${rateGroups}
      ) as recent
      where created_at > ${new Date(now - rateMillis)} group by env_id`.pipe(
      Effect.map((rows) => {
        const groups = rows.reduce((sum, row) => sum + row.groups, 0)
        const oldest = rows.reduce((least, row) => Math.min(least, row.oldest.getTime()), now)
        const millis = groups < rateGroups ? rateMillis : Math.max(1, now - oldest)
        return new Map(rows.map(({ env_id, sequences }) => [env_id, (sequences * rateMillis) / millis]))
      })
    )

  const environments: Reading["environments"] = Effect.fn("RolloutReader.environments")(function* (name) {
    const { current, latest } = yield* names.idsOf(name)
    const now = yield* Clock.currentTimeMillis
    const rows = yield* sql<EnvironmentRead>`
      select to_json(env) as env, report, reported_at
      from env left join env_report using (run_id, env_id) where run_id = ${latest} order by env_id`
    const shares = yield* sharesOf(latest)
    const rates = yield* ratesOf(latest, now)
    // This process knows better when it heard of an environment last.
    const heard = current === undefined ? [] : yield* store.environments(name)
    return rows.map(({ env, report, reported_at }): ReadEnvironment => {
      const row = Rows.toEnvironment(env)
      return {
        ...row,
        lastSeen: Math.max(row.lastSeen, heard.find(({ envId }) => envId === row.envId)?.lastSeen ?? 0),
        report: report === null ? null : { ...report, at: reported_at?.getTime() ?? 0 },
        share: shares.size === 0 ? null : (shares.get(row.envId) ?? 0),
        rolloutsPerMinute: rates.get(row.envId) ?? 0
      }
    })
  }, Failure.orStoreError)

  const batches: Reading["batches"] = Effect.fn("RolloutReader.batches")(function* (name) {
    const { latest } = yield* names.idsOf(name)
    const now = yield* clock.now
    const rows = yield* sql<BatchRead>`
      select id, step, sequences, lease_owner, lease_until, deliveries, created_at, acked_at,
        coalesce(groups, (select count(*)::int from grp where batch_id = batch.id)) as groups
      from batch where run_id = ${latest} order by step desc limit ${mostBatches}`
    return rows.map((row): BatchRow => {
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

  return { runs, pieces, metrics, metricsToCome, environments, batches }
})
