/**
 * Manages leases on batches for their holder: ack, requeue, extend, mark as trained. The holder is identified by the
 * token of its claim; with another token, or after the lease went to another trainer, all fail with `LeaseLost` and
 * change nothing.
 */
import { TrajectoryApiError } from "@atropos/core"
import { Clock, Duration, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { TrajectoryStoreShape } from "../../store/TrajectoryStore.ts"
import type { Notifications } from "../base/Notifications.ts"
import * as Failure from "../base/Failure.ts"
import type { StoreClock } from "../base/StoreClock.ts"
import type { RunStateCache } from "../base/RunStateCache.ts"

const lost = (id: string) =>
  new TrajectoryApiError.LeaseLost({ message: `batch ${id} was acknowledged, or its lease passed to another trainer` })

export type Leases = Pick<TrajectoryStoreShape, "ack" | "nack" | "trained" | "extendLease">

/** Validate the format of a batch id and of a lease token. */
export const isId = (id: string) => /^\d{1,18}$/.test(id)
export const isToken = (token: string) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(token)

export const make = Effect.fnUntraced(function* (
  runStates: RunStateCache,
  notifications: Notifications,
  clock: StoreClock
): Effect.fn.Return<Leases, never, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient

  /** Runs `statement`, which returns the run and groups of the batch if the lease is valid. */
  const withLease = Effect.fnUntraced(function* (
    batch: { readonly id: string; readonly leaseToken: string },
    statement: Effect.Effect<ReadonlyArray<{ readonly name: string }>, SqlError>
  ) {
    if (!isId(batch.id) || !isToken(batch.leaseToken)) return yield* lost(batch.id)
    const [row] = yield* statement
    if (row === undefined) return yield* lost(batch.id)
    return row.name
  })

  const ack: Leases["ack"] = Effect.fn("PgTrajectoryStore.ack")(function* (batch) {
    const now = new Date(yield* Clock.currentTimeMillis)
    const name = yield* withLease(
      batch,
      sql<{ name: string }>`
        with acked as (
          -- Repeatable with the same token, since the first response may have been lost.
          update batch set acked_at = coalesce(acked_at, ${now}), lease_until = null
          where id = ${batch.id}::bigint and lease_token = ${batch.leaseToken}::uuid
            and (lease_until is not null or acked_at is not null)
          returning run_id
        )
        select name from run join acked on run.id = acked.run_id`
    )
    notifications.counted(name)
  }, Failure.orStoreError)

  const nack: Leases["nack"] = Effect.fn("PgTrajectoryStore.nack")(function* (batch) {
    const name = yield* withLease(
      batch,
      sql<{ name: string }>`
        with returned as (
          update batch set lease_until = null, is_trained = false
          where id = ${batch.id}::bigint and lease_token = ${batch.leaseToken}::uuid and lease_until is not null
            and acked_at is null
          returning run_id
        )
        -- Any that a trainer loaded: it may go back to a checkpoint, whose version is older.
        update run set policy_version = case when policy_version is not null then 0 end
        from returned where run.id = returned.run_id
        returning run.name`
    )
    notifications.counted(name)
  }, Failure.orStoreError)

  const trained: Leases["trained"] = Effect.fn("PgTrajectoryStore.trained")(function* (batch) {
    const name = yield* withLease(
      batch,
      sql<{ name: string }>`
        with trained as (
          update batch set is_trained = true
          where id = ${batch.id}::bigint and lease_token = ${batch.leaseToken}::uuid
            and (lease_until is not null or acked_at is not null)
          returning run_id
        )
        update run set policy_version = ${batch.policyVersion ?? null}::bigint from trained where run.id = trained.run_id
        returning run.name`
    )
    notifications.counted(name)
  }, Failure.orStoreError)

  const extendLease: Leases["extendLease"] = Effect.fn("PgTrajectoryStore.extendLease")(function* (batch, lease) {
    const until = new Date((yield* clock.now) + Duration.toMillis(lease))
    const name = yield* withLease(
      batch,
      sql<{ name: string }>`
        with extended as (
          update batch set lease_until = ${until}
          where id = ${batch.id}::bigint and lease_token = ${batch.leaseToken}::uuid and lease_until is not null
            and acked_at is null
          returning run_id
        )
        select name from run join extended on run.id = extended.run_id`
    )
    runStates.invalidateCounts(name)
  }, Failure.orStoreError)

  return { ack, nack, trained, extendLease }
})
