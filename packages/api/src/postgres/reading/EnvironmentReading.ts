/** Reads the environments of a run for the viewer: last reports, batch shares and rates. */
import type { TrajectoryApi } from "@atropos/core"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { RolloutReaderShape } from "../../store/RolloutReader.ts"
import type { TrajectoryStoreShape } from "../../store/TrajectoryStore.ts"
import * as Failure from "../base/Failure.ts"
import * as Rows from "../base/Rows.ts"
import type { RunNames } from "../base/RunNames.ts"

export type EnvironmentReading = Pick<RolloutReaderShape, "environments">

const recentBatches = 20
const rateMillis = 60_000
/** Max groups for the rate; above it, the rate is that of the last ones. */
const rateGroups = 5000
interface EnvironmentRead {
  readonly env: Rows.EnvironmentJson
  readonly report: Omit<NonNullable<TrajectoryApi.EnvironmentRow["report"]>, "at"> | null
  readonly reported_at: Date | null
}

export const make = Effect.fnUntraced(function* (
  names: RunNames,
  store: Pick<TrajectoryStoreShape, "environments">
): Effect.fn.Return<EnvironmentReading, never, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient

  /** Sequences by environment over the last batches. */
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

  /** Sequences per minute by environment. */
  const ratesOf = (run: number, now: number): Effect.Effect<ReadonlyMap<number, number>, SqlError> =>
    sql<{ env_id: number; sequences: number; groups: number; oldest: Date }>`
      select env_id, sum(sequences)::int as sequences, count(*)::int as groups, min(created_at) as oldest
      from (
        select env_id, sequences, created_at from grp where run_id = ${run} order by id desc limit ${rateGroups}
      ) as recent
      where created_at > ${new Date(now - rateMillis)} group by env_id`.pipe(
      Effect.map((rows) => {
        const groups = rows.reduce((sum, row) => sum + row.groups, 0)
        const oldest = rows.reduce((min, row) => Math.min(min, row.oldest.getTime()), now)
        const millis = groups < rateGroups ? rateMillis : Math.max(1, now - oldest)
        return new Map(rows.map(({ env_id, sequences }) => [env_id, (sequences * rateMillis) / millis]))
      })
    )

  const environments: EnvironmentReading["environments"] = Effect.fn("RolloutReader.environments")(function* (name) {
    const { current, latest } = yield* names.idsOf(name)
    const now = yield* Clock.currentTimeMillis
    const rows = yield* sql<EnvironmentRead>`
      select to_json(env) as env, report, reported_at
      from env left join env_report using (run_id, env_id) where run_id = ${latest} order by env_id`
    const shares = yield* sharesOf(latest)
    const rates = yield* ratesOf(latest, now)
    // This process has a more recent time of last contact in memory.
    const heard = current === undefined ? [] : yield* store.environments(name)
    return rows.map(({ env, report, reported_at }): TrajectoryApi.EnvironmentRow => {
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

  return { environments }
})
