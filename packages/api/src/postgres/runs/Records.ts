/**
 * Stores records outside the queue: saved state and reports of environments, metrics, token text, the latest example.
 */
import { MetricsSink } from "@atropos/core"
import * as Readings from "@atropos/core/service/Readings"
import { Clock, Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import { type TrajectoryStoreShape, UnknownEnvironment } from "../../store/TrajectoryStore.ts"
import type { Notifications } from "../base/Notifications.ts"
import * as Failure from "../base/Failure.ts"
import type { Objects } from "../base/Objects.ts"
import * as Rows from "../base/Rows.ts"

/** First key of the advisory locks that order metrics; the second is the run's id. */
const metricsLock = 4_190_771

export type Records = Pick<
  TrajectoryStoreShape,
  "loadState" | "saveState" | "recordMetrics" | "recordSettings" | "recordPieces" | "recordReport" | "latest"
>

export const make = Effect.fnUntraced(function* (
  notifications: Notifications,
  objects: Objects
): Effect.fn.Return<Records, never, SqlClient.SqlClient> {
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
    // Serialised within a run: a reader that resumes after a row must not miss a lower id committed later.
    yield* sql`
        with target as materialized (
          select id, pg_advisory_xact_lock(${metricsLock}, id) from run where name = ${run} and ended_at is null
        )
        insert into metric (run_id, source, step, recorded_at, readings)
        select id, ${source}, ${step}, ${now}, ${JSON.stringify(Readings.encode(values))}::json from target`
    notifications.measured(run)
  }, Failure.orStoreError)

  const recordSettings: Records["recordSettings"] = Effect.fn("PgTrajectoryStore.recordSettings")(function* (
    run,
    { kind, settings, source }
  ) {
    const now = new Date(yield* Clock.currentTimeMillis)
    // The sender may not have removed secrets. JSON escapes NUL, which Postgres accepts in json but not in text.
    const clean = JSON.stringify(MetricsSink.withoutSecrets(settings)).replaceAll("\\u0000", "\\u2400")
    yield* sql`
      insert into run_setting (run_id, source, kind, settings, recorded_at)
      select id, ${source}, ${kind}, ${clean}::json, ${now} from run where name = ${run} and ended_at is null
      on conflict (run_id, source) do update set
        kind = excluded.kind, settings = excluded.settings, recorded_at = excluded.recorded_at`
  }, Failure.orStoreError)

  const recordPieces: Records["recordPieces"] = Effect.fn("PgTrajectoryStore.recordPieces")(function* (run, pieces) {
    if (pieces.size === 0) return
    const ids = Rows.array("int4", [...pieces.keys()])
    const texts = Rows.array("text", [...pieces.values()].map(storable))
    yield* sql`
      insert into piece (run_id, token_id, text)
      select run.id, i.token_id, i.text from run, unnest(${ids}::int[], ${texts}::text[]) as i (token_id, text)
      where run.name = ${run} and ended_at is null
      order by token_id on conflict do nothing`
  }, Failure.orStoreError)

  const recordReport: Records["recordReport"] = Effect.fn("PgTrajectoryStore.recordReport")(function* (
    run,
    envId,
    report
  ) {
    const now = new Date(yield* Clock.currentTimeMillis)
    // During long rollouts an environment sends nothing but reports, so these count as contact.
    const kept = yield* sql`
      with heard as (
        update env set last_seen = greatest(last_seen, ${now}) from run
        where run.id = env.run_id and run.name = ${run} and ended_at is null and env_id = ${Rows.toEnvColumn(envId)}
        returning env.run_id, env.env_id
      )
      insert into env_report (run_id, env_id, reported_at, report)
      select run_id, env_id, ${now}, ${JSON.stringify(report)}::json from heard
      on conflict (run_id, env_id) do update set reported_at = excluded.reported_at, report = excluded.report
      returning env_id`
    if (kept.length === 0) return yield* new UnknownEnvironment({ run, envId })
  }, Failure.orStoreError)

  const latest: Records["latest"] = Effect.fn("PgTrajectoryStore.latest")(function* (run) {
    // Includes earlier runs of this name: the original's reset keeps its latest example.
    const [row] = yield* sql<Rows.GroupRow>`
      select newest.* from run cross join lateral (
        select id, env_id, sequences, tokens, scores, policy_step, grp.created_at, encoding, payload
        from grp where run_id = run.id and place is not null order by id desc limit 1
      ) as newest
      where run.name = ${run} and run.deleted_at is null order by run.id desc limit 1`
    return row === undefined ? Option.none() : Option.some(yield* Rows.toStoredGroup(yield* objects.bring(row)))
  }, Failure.orStoreError)

  return { loadState, saveState, recordMetrics, recordSettings, recordPieces, recordReport, latest } satisfies Records
})

/** Postgres text cannot hold NUL. */
const storable = (text: string): string => text.replaceAll("\0", "\u2400")
