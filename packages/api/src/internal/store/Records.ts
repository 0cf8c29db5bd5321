/** What is kept beside the queue: environments' saved state, metrics, and stored groups for browsing. */
import { Clock, Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { MetricsRow, RolloutRow, TrajectoryStoreShape } from "../../TrajectoryStore.ts"
import * as Failure from "./Failure.ts"
import * as Rows from "./Rows.ts"

export type Records = Pick<
  TrajectoryStoreShape,
  "loadState" | "saveState" | "recordMetrics" | "metrics" | "rollouts" | "rollout" | "latest"
>

interface BrowseRow extends Rows.EnvelopeRow {
  readonly environment: string | null
  readonly step: bigint | null
  readonly state: RolloutRow["state"]
}

const isId = (id: string) => /^\d{1,18}$/.test(id)

export const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const loadState: Records["loadState"] = Effect.fn("PgTrajectoryStore.loadState")(function* (run, environmentName) {
    const [row] = yield* sql<{ step: bigint; value: unknown }>`
      select step, value from env_state where run_name = ${run} and env_name = ${environmentName}`
    return Option.map(Option.fromNullishOr(row), ({ step, value }) => ({ step: Number(step), value }))
  }, Failure.orStoreError)

  const saveState: Records["saveState"] = Effect.fn("PgTrajectoryStore.saveState")(function* (
    run,
    environmentName,
    { step, value }
  ) {
    const now = new Date(yield* Clock.currentTimeMillis)
    yield* sql`
        insert into env_state (run_name, env_name, step, value, saved_at)
        values (${run}, ${environmentName}, ${step}, ${JSON.stringify(value ?? null)}::json, ${now})
        on conflict (run_name, env_name)
        do update set step = excluded.step, value = excluded.value, saved_at = excluded.saved_at`
  }, Failure.orStoreError)

  const recordMetrics: Records["recordMetrics"] = Effect.fn("PgTrajectoryStore.recordMetrics")(function* (
    run,
    { source, step, values }
  ) {
    const now = new Date(yield* Clock.currentTimeMillis)
    yield* sql`
        insert into metric (run_id, source, step, recorded_at, readings)
        select id, ${source}, ${step}, ${now}, ${JSON.stringify(values)}::json
        from run where name = ${run} and ended_at is null`
  }, Failure.orStoreError)

  const metrics: Records["metrics"] = Effect.fn("PgTrajectoryStore.metrics")(function* (
    run,
    { fromStep, limit, source }
  ) {
    const rows = yield* sql<{ source: string; step: bigint; recorded_at: Date; readings: MetricsRow["values"] }>`
      select source, step, recorded_at, readings from metric
      where run_id in (select id from run where name = ${run} and ended_at is null)
        and (${source ?? null}::text is null or source = ${source ?? null})
        and (${fromStep ?? null}::bigint is null or step >= ${fromStep ?? null})
      order by id limit ${limit}`
    return rows.map(({ readings, recorded_at, source, step }) => ({
      source,
      step: Number(step),
      at: recorded_at.getTime(),
      values: readings
    }))
  }, Failure.orStoreError)

  const rollouts: Records["rollouts"] = Effect.fn("PgTrajectoryStore.rollouts")(function* (run, filter) {
    const { before, environment, limit, scoreFrom, scoreTo, stepFrom, stepTo } = filter
    if (before !== undefined && !isId(before)) return { rows: [], next: null }
    const hasStep = stepFrom !== undefined || stepTo !== undefined
    const rows = yield* sql<BrowseRow>`
      select grp.id, grp.env_id, grp.sequences, grp.tokens, grp.scores, grp.policy_step, grp.created_at,
        env.name as environment, batch.step,
        case
          when batch.acked_at is not null then 'consumed'
          when batch.lease_until is not null then 'leased'
          when batch.id is not null then 'formed'
          when grp.place is null then 'buffered'
          else 'queued'
        end as state
      from grp
        join run on run.id = grp.run_id
        left join batch on batch.id = grp.batch_id
        left join env on env.run_id = grp.run_id and env.env_id = grp.env_id
      where ${sql.and([
        sql`run.name = ${run}`,
        sql`(run.ended_at is null or grp.batch_id is not null)`,
        ...(before === undefined ? [] : [sql`grp.id < ${before}::bigint`]),
        ...(environment === undefined ? [] : [sql`env.name = ${environment}`]),
        ...(hasStep ? [sql`batch.step is not null`] : []),
        ...(stepFrom === undefined ? [] : [sql`batch.step >= ${stepFrom}`]),
        ...(stepTo === undefined ? [] : [sql`batch.step <= ${stepTo}`]),
        ...(scoreFrom === undefined ? [] : [sql`grp.score_mean >= ${scoreFrom}::float8`]),
        ...(scoreTo === undefined ? [] : [sql`grp.score_mean <= ${scoreTo}::float8`])
      ])}
      order by grp.id desc limit ${limit + 1}`
    const page = rows.slice(0, limit).map((row): RolloutRow => ({
      ...Rows.toEnvelope(row),
      environment: row.environment,
      step: row.step === null ? null : Number(row.step),
      state: row.state
    }))
    return { rows: page, next: rows.length > limit ? (page.at(-1)?.id ?? null) : null }
  }, Failure.orStoreError)

  const rollout: Records["rollout"] = Effect.fn("PgTrajectoryStore.rollout")(function* (run, id) {
    if (!isId(id)) return Option.none()
    const [row] = yield* sql<Rows.GroupRow>`
      select grp.id, env_id, sequences, tokens, scores, policy_step, grp.created_at, encoding, payload
      from grp join run on run.id = grp.run_id
      where grp.id = ${id}::bigint and run.name = ${run} and (run.ended_at is null or grp.batch_id is not null)`
    return row === undefined ? Option.none() : Option.some(yield* Rows.toStoredGroup(row))
  }, Failure.orStoreError)

  const latest: Records["latest"] = Effect.fn("PgTrajectoryStore.latest")(function* (run) {
    // Also of an earlier run of this name: the original's reset keeps its latest example.
    const [row] = yield* sql<Rows.GroupRow>`
      select newest.* from run cross join lateral (
        select id, env_id, sequences, tokens, scores, policy_step, grp.created_at, encoding, payload
        from grp where run_id = run.id and place is not null order by id desc limit 1
      ) as newest
      where run.name = ${run} order by run.id desc limit 1`
    return row === undefined ? Option.none() : Option.some(yield* Rows.toStoredGroup(row))
  }, Failure.orStoreError)

  return { loadState, saveState, recordMetrics, metrics, rollouts, rollout, latest } satisfies Records
})
