/** Manages runs: registration by trainers, start, reset. */
import { Clock, Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import { type Run, type TrajectoryStoreShape, UnknownRun } from "../../store/TrajectoryStore.ts"
import type { Notifications } from "../base/Notifications.ts"
import * as Failure from "../base/Failure.ts"
import type { PayloadCache } from "../base/PayloadCache.ts"
import * as Rows from "../base/Rows.ts"
import { viewOf, type RunStateCache } from "../base/RunStateCache.ts"
import * as UnregisteredRun from "../base/UnregisteredRun.ts"

export type Runs = Pick<
  TrajectoryStoreShape,
  "registerRun" | "createRun" | "run" | "hasRun" | "runs" | "start" | "reset"
>

export const make = Effect.fnUntraced(function* (
  runStates: RunStateCache,
  notifications: Notifications,
  cache: PayloadCache
): Effect.fn.Return<Runs, never, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient

  const registerRun: Runs["registerRun"] = Effect.fn("PgTrajectoryStore.registerRun")(
    function* (spec) {
      const now = new Date(yield* Clock.currentTimeMillis)
      const advantages =
        spec.advantages === undefined || spec.advantages === null ? null : JSON.stringify(spec.advantages)
      const { waitAtStaleness = null } = spec
      // It may begin at an older version than the last trainer had reached; if it resumes, it loads its weights first.
      const version = spec.startingStep > 0 ? 0 : null
      const rows = yield* sql<{ run: Rows.RunJson }>`
      insert into run (
        name, created_at, is_registered, batch_size, max_token_length, starting_step, num_steps, checkpoint_dir,
        save_checkpoint_interval, wandb_group, wandb_project, advantages,
        wait_at_staleness, policy_version
      ) values (
        ${spec.name}, ${now}, true, ${spec.batchSize}, ${spec.maxTokenLength}, ${spec.startingStep}, ${spec.numSteps},
        ${spec.checkpointDir}, ${spec.saveCheckpointInterval}, ${spec.wandbGroup}, ${spec.wandbProject}, ${advantages}::json,
        ${waitAtStaleness}::int, ${version}::bigint
      )
      on conflict (name) where ended_at is null do update set
        is_registered = true, batch_size = excluded.batch_size, max_token_length = excluded.max_token_length,
        starting_step = excluded.starting_step, num_steps = excluded.num_steps, checkpoint_dir = excluded.checkpoint_dir,
        save_checkpoint_interval = excluded.save_checkpoint_interval, wandb_group = excluded.wandb_group,
        wandb_project = excluded.wandb_project, advantages = excluded.advantages,
        wait_at_staleness = excluded.wait_at_staleness, policy_version = ${version}::bigint
      where not run.is_registered
      returning to_json(run) as run`
      if (rows[0] !== undefined) {
        notifications.changed(spec.name)
        return Rows.toRun(rows[0].run)
      }
      // Other fields are unchanged. The current trainer announces its rule, and may extend the run: environments stop
      // at the run's number of steps.
      const updated = yield* sql`
        update run set num_steps = greatest(num_steps, ${spec.numSteps}), advantages = coalesce(${advantages}::json, advantages),
          wait_at_staleness = ${waitAtStaleness}::int, policy_version = ${version}::bigint
        where name = ${spec.name} and ended_at is null and (
          num_steps < ${spec.numSteps} or policy_version is distinct from ${version}::bigint or wait_at_staleness is distinct from ${waitAtStaleness}::int
          or advantages::text is distinct from coalesce(${advantages}::json, advantages)::text
        )
        returning id`
      if (updated.length > 0) notifications.changed(spec.name)
      runStates.invalidate(spec.name)
      return (yield* viewOf(runStates, spec.name)).run
    },
    Effect.catchTag("UnknownRun", (error) => Effect.die(error)),
    Failure.orStoreError
  )

  const createRun: Runs["createRun"] = Effect.fn("PgTrajectoryStore.createRun")(function* (name) {
    const created = yield* UnregisteredRun.create(sql, name, new Date(yield* Clock.currentTimeMillis))
    if (created !== undefined) notifications.changed(name)
    return Option.map(Option.fromNullishOr(created), Rows.toRun)
  }, Failure.orStoreError)

  const runs: Runs["runs"] = sql<{ run: Rows.RunJson }>`
    select to_json(run) as run from run where ended_at is null order by id`.pipe(
    Effect.map((rows): ReadonlyArray<Run> => rows.map(({ run }) => Rows.toRun(run))),
    Failure.orStoreError
  )

  const start: Runs["start"] = Effect.fnUntraced(function* (name: string) {
    const { view } = yield* runStates.recent(name)
    if (view === undefined || !view.run.registered) return yield* new UnknownRun({ run: name })
    const { run } = view
    if (run.started) return
    yield* sql`update run set is_started = true where id = ${run.id} and ended_at is null`
    notifications.changed(name)
  }, Failure.orStoreError)

  const reset: Runs["reset"] = Effect.fn("PgTrajectoryStore.reset")(function* (name) {
    const now = new Date(yield* Clock.currentTimeMillis)
    // A batch held by a trainer counts as consumed, and its token becomes invalid. Queued groups are removed later:
    // they are no longer reachable.
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
    notifications.changed(name)
  }, Failure.orStoreError)

  return {
    registerRun,
    createRun,
    run: (name) =>
      runStates.get(name).pipe(
        Effect.map((view) => Option.map(Option.fromNullishOr(view), ({ run }) => run)),
        Failure.orStoreError
      ),
    hasRun: (name) =>
      runStates.recent(name).pipe(
        Effect.map(({ view }) => view !== undefined),
        Failure.orStoreError
      ),
    runs,
    start,
    reset
  }
})
