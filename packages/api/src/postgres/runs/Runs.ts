/** Runs and the environments registered with them. */
import type { TrajectoryApi } from "@atropos/core"
import { Clock, Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { type Run, type TrajectoryStoreShape, UnknownEnvironment, UnknownRun } from "../../store/TrajectoryStore.ts"
import type { Changes } from "../base/Changes.ts"
import * as Failure from "../base/Failure.ts"
import type { PayloadCache } from "../base/PayloadCache.ts"
import * as Rows from "../base/Rows.ts"
import * as Status from "../base/Status.ts"
import type { RunView, Views } from "../base/Views.ts"

export type Runs = Pick<
  TrajectoryStoreShape,
  | "registerRun"
  | "run"
  | "hasRun"
  | "runs"
  | "start"
  | "reset"
  | "registerEnvironment"
  | "disconnectEnvironment"
  | "environments"
  | "status"
> & {
  /** Writes down when environments were last heard of. */
  readonly flushLastSeen: Effect.Effect<void, SqlError>
}

export const make = Effect.fnUntraced(function* (
  views: Views,
  changes: Changes,
  cache: PayloadCache
): Effect.fn.Return<Runs, never, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  /** By run id and environment id; written to the database now and then. */
  const seen = new Map<string, { readonly runId: number; readonly envId: number; at: number }>()

  const viewOf = (name: string): Effect.Effect<RunView, SqlError | UnknownRun> =>
    views.get(name).pipe(
      Effect.filterOrFail(
        (view) => view !== undefined,
        () => new UnknownRun({ run: name })
      )
    )

  const touch = (runId: number, envId: number, at: number): void => {
    const key = `${runId}/${envId}`
    const entry = seen.get(key)
    if (entry === undefined) seen.set(key, { runId, envId, at })
    else entry.at = at
  }

  const registerRun: Runs["registerRun"] = Effect.fn("PgTrajectoryStore.registerRun")(
    function* (spec) {
      const now = new Date(yield* Clock.currentTimeMillis)
      const advantages =
        spec.advantages === undefined || spec.advantages === null ? null : JSON.stringify(spec.advantages)
      const rows = yield* sql<{ run: Rows.RunJson }>`
      insert into run (
        name, created_at, is_registered, batch_size, max_token_length, starting_step, num_steps, checkpoint_dir,
        save_checkpoint_interval, wandb_group, wandb_project, advantages
      ) values (
        ${spec.name}, ${now}, true, ${spec.batchSize}, ${spec.maxTokenLength}, ${spec.startingStep}, ${spec.numSteps},
        ${spec.checkpointDir}, ${spec.saveCheckpointInterval}, ${spec.wandbGroup}, ${spec.wandbProject}, ${advantages}::json
      )
      on conflict (name) where ended_at is null do update set
        is_registered = true, batch_size = excluded.batch_size, max_token_length = excluded.max_token_length,
        starting_step = excluded.starting_step, num_steps = excluded.num_steps, checkpoint_dir = excluded.checkpoint_dir,
        save_checkpoint_interval = excluded.save_checkpoint_interval, wandb_group = excluded.wandb_group,
        wandb_project = excluded.wandb_project, advantages = excluded.advantages
      where not run.is_registered
      returning to_json(run) as run`
      if (rows[0] !== undefined) {
        changes.changed(spec.name)
        return Rows.toRun(rows[0].run)
      }
      // The rest stays as it is; whoever trains now says how.
      if (advantages !== null) {
        const told = yield* sql`
          update run set advantages = ${advantages}::json
          where name = ${spec.name} and ended_at is null and advantages::text is distinct from ${advantages}::json::text
          returning id`
        if (told.length > 0) changes.changed(spec.name)
      }
      views.invalidate(spec.name)
      return (yield* viewOf(spec.name)).run
    },
    Effect.catchTag("UnknownRun", (error) => Effect.die(error)),
    Failure.orStoreError
  )

  const runs: Runs["runs"] = sql<{ run: Rows.RunJson }>`
    select to_json(run) as run from run where ended_at is null order by id`.pipe(
    Effect.map((rows): ReadonlyArray<Run> => rows.map(({ run }) => Rows.toRun(run))),
    Failure.orStoreError
  )

  const start: Runs["start"] = Effect.fnUntraced(function* (name: string) {
    const { view } = yield* views.recent(name)
    if (view === undefined || !view.run.registered) return yield* new UnknownRun({ run: name })
    const { run } = view
    if (run.started) return
    yield* sql`update run set is_started = true where id = ${run.id} and ended_at is null`
    changes.changed(name)
  }, Failure.orStoreError)

  const reset: Runs["reset"] = Effect.fn("PgTrajectoryStore.reset")(function* (name) {
    const now = new Date(yield* Clock.currentTimeMillis)
    // A batch that is with a trainer counts as consumed, and its token for nothing. What waits is removed later: nobody
    // can reach it.
    yield* Failure.inTransaction(
      sql,
      Effect.gen(function* () {
        const [run] = yield* sql<{ id: number }>`
          update run set ended_at = greatest(${now}, created_at) where name = ${name} and ended_at is null returning id`
        if (run === undefined) return
        yield* sql`
          update batch set acked_at = ${now}, lease_until = null, lease_token = gen_random_uuid()
          where run_id = ${run.id} and acked_at is null`
        yield* sql`delete from queued where run_id = ${run.id}`
      })
    )
    cache.clear()
    changes.changed(name)
  }, Failure.orStoreError)

  const registerEnvironment: Runs["registerEnvironment"] = Effect.fn("PgTrajectoryStore.registerEnvironment")(
    function* (name, spec) {
      const { run } = yield* viewOf(name)
      if (!run.registered || !run.started) return Option.none()
      const now = new Date(yield* Clock.currentTimeMillis)
      const registration = yield* Failure.inTransaction(
        sql,
        Effect.gen(function* () {
          // Ids and names are counted: one registration after the other.
          const [current] = yield* sql<{ run: Rows.RunJson }>`
            select to_json(run) as run from run where id = ${run.id} and ended_at is null for no key update`
          if (current === undefined) return undefined
          const [added] = yield* sql<{ env_id: number; name: string }>`
            insert into env (
              run_id, env_id, desired_name, name, weight, group_size, max_token_length, min_batch_allocation, last_seen
            )
            select ${run.id}, count(*)::int, ${spec.desiredName}::text,
              ${spec.desiredName}::text || '_' || count(*) filter (where desired_name = ${spec.desiredName}),
              ${spec.weight}::float8, ${spec.groupSize}, ${spec.maxTokenLength}::bigint, ${spec.minBatchAllocation}::float8,
              ${now}
            from env where run_id = ${run.id}
            returning env_id, name`
          return { added: added!, run: Rows.toRun(current.run) }
        })
      )
      changes.changed(name)
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

  const environmentOf = Effect.fnUntraced(function* (name: string, envId: number) {
    const unknown = new UnknownEnvironment({ run: name, envId })
    const view = yield* viewOf(name).pipe(Effect.catchTag("UnknownRun", () => Effect.fail(unknown)))
    const environment = view.environments[envId]
    if (environment !== undefined) return { view, environment }
    // Perhaps it registered with another process a moment ago.
    views.invalidate(name)
    const fresh = yield* views.get(name)
    const found = fresh?.environments[envId]
    return fresh === undefined || found === undefined ? yield* unknown : { view: fresh, environment: found }
  })

  const disconnectEnvironment: Runs["disconnectEnvironment"] = Effect.fn("PgTrajectoryStore.disconnectEnvironment")(
    function* (name, envId) {
      const { view } = yield* environmentOf(name, envId)
      yield* sql`update env set is_connected = false where run_id = ${view.run.id} and env_id = ${envId}`
      changes.changed(name)
    },
    Failure.orStoreError
  )

  const environments: Runs["environments"] = Effect.fnUntraced(function* (name: string) {
    const view = yield* views.get(name)
    if (view === undefined) return []
    return view.environments.map((environment) => ({
      ...environment,
      lastSeen: Math.max(environment.lastSeen, seen.get(`${view.run.id}/${environment.envId}`)?.at ?? 0)
    }))
  }, Failure.orStoreError)

  const status: Runs["status"] = Effect.fnUntraced(function* (name: string, envId: number) {
    const { environment, view } = yield* environmentOf(name, envId)
    touch(view.run.id, envId, yield* Clock.currentTimeMillis)
    const { groupSize, ...answer } = Status.status(view, environment)
    if (groupSize > environment.groupSize) {
      yield* sql`
        update env set group_size = ${groupSize}
        where run_id = ${view.run.id} and env_id = ${envId} and group_size < ${groupSize}`
      changes.changed(name)
    }
    return answer
  }, Failure.orStoreError)

  const flushLastSeen: Runs["flushLastSeen"] = Effect.gen(function* () {
    if (seen.size === 0) return
    const entries = [...seen.values()]
    seen.clear()
    yield* sql`
      update env set last_seen = greatest(env.last_seen, heard.at)
      from unnest(
        ${Rows.array(
          "int4",
          entries.map(({ runId }) => runId)
        )}::int[],
        ${Rows.array(
          "int4",
          entries.map(({ envId }) => envId)
        )}::int[],
        ${Rows.array(
          "timestamptz",
          entries.map(({ at }) => new Date(at))
        )}::timestamptz[]
      ) as heard (run_id, env_id, at)
      where env.run_id = heard.run_id and env.env_id = heard.env_id`
  })

  return {
    registerRun,
    run: (name) =>
      views.get(name).pipe(
        Effect.map((view) => Option.map(Option.fromNullishOr(view), ({ run }) => run)),
        Failure.orStoreError
      ),
    hasRun: (name) =>
      views.recent(name).pipe(
        Effect.map(({ view }) => view !== undefined),
        Failure.orStoreError
      ),
    runs,
    start,
    reset,
    registerEnvironment,
    disconnectEnvironment,
    environments,
    status,
    flushLastSeen
  }
})
