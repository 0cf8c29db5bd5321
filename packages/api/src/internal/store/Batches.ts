/**
 * Batches: formed when they are claimed, leased, acked, given back, and handed out again when a lease runs out.
 *
 * Claims of a run go one after the other (its row is locked), so steps are handed out in order and without gaps, whichever
 * process claims. A batch that came back goes out before a new one is formed. Payloads are read after the lock is let go.
 */
import { Packing } from "@atropos/core"
import { Clock, Duration, Effect, Option, Semaphore } from "effect"
import * as SecureRandom from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import {
  type ClaimedBatch,
  LeaseLost,
  type StoredGroup,
  type TrajectoryStoreShape,
  UnknownRun
} from "../../TrajectoryStore.ts"
import type { Changes } from "./Changes.ts"
import * as Failure from "./Failure.ts"
import type { PayloadCache } from "./PayloadCache.ts"
import * as Rows from "./Rows.ts"
import type { RunView, Views } from "./Views.ts"

export type Batches = Pick<TrajectoryStoreShape, "claim" | "ack" | "nack" | "extendLease">

interface LeasedRow {
  readonly id: bigint
  readonly step: bigint
  readonly lease_token: string
  readonly deliveries: number
}

interface CandidateRow {
  readonly id: bigint
  readonly env_id: number
  readonly sequences: number
}

const isId = (id: string) => /^\d{1,18}$/.test(id)
const isToken = (token: string) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(token)

/** Whether a look into the database could find a batch. */
const canClaim = ({ leases, queued, run }: RunView, now: number): boolean =>
  leases.some((until) => until === null || until <= now) ||
  queued.reduce((sum, { groups, sequences }) => sum + groups * sequences, 0) >= run.batchSize

/** Shares that connected environments are promised. */
const minimumShares = ({ environments }: RunView): Packing.MinimumShares =>
  new Map(
    environments.flatMap(({ connected, envId, minBatchAllocation }) =>
      connected && minBatchAllocation !== null && minBatchAllocation > 0 ? [[envId, minBatchAllocation] as const] : []
    )
  )

export const make = Effect.fnUntraced(function* (
  views: Views,
  changes: Changes,
  cache: PayloadCache
): Effect.fn.Return<Batches, never, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  // Claims wait for each other here, and not with a connection in their hands.
  const turns = new Map<string, Semaphore.Semaphore>()

  const turnOf = (run: string): Semaphore.Semaphore => {
    const known = turns.get(run)
    if (known !== undefined) return known
    const turn = Semaphore.makeUnsafe(1)
    turns.set(run, turn)
    return turn
  }

  const redeliver = (runId: number, owner: string, now: Date, until: Date) => sql<LeasedRow>`
    update batch set lease_token = ${SecureRandom.uuidV7Unsafe()}::uuid, lease_owner = ${owner}, lease_until = ${until},
      deliveries = deliveries + 1
    where id = (
      select id from batch
      where run_id = ${runId} and acked_at is null and (lease_until is null or lease_until <= ${now})
      order by step limit 1 for update skip locked
    )
    returning id, step, lease_token::text as lease_token, deliveries`

  /** Of each environment and size, the oldest groups that could fit into a batch: what packing needs to know. */
  const candidates = (runId: number, batchSize: number) => sql<CandidateRow>`
    select waiting.id, queued.env_id, queued.sequences
    from queued cross join lateral (
      select id, place from grp
      where grp.run_id = queued.run_id and grp.env_id = queued.env_id and grp.sequences = queued.sequences
        and batch_id is null and place is not null
      order by place limit ${batchSize} / queued.sequences
    ) as waiting
    where queued.run_id = ${runId} and queued.groups > 0 and queued.sequences between 1 and ${batchSize}
    order by waiting.place`

  const form = Effect.fnUntraced(function* (
    runId: number,
    batchSize: number,
    minimums: Packing.MinimumShares,
    owner: string,
    now: Date,
    until: Date
  ): Effect.fn.Return<LeasedRow | undefined, SqlError> {
    const waiting = yield* candidates(runId, batchSize)
    const positions = Packing.fill(
      waiting.map(({ env_id, sequences }) => ({ size: sequences, envId: Rows.fromEnvColumn(env_id) })),
      batchSize,
      minimums
    )
    if (positions === undefined) return undefined
    const ids = Rows.array(
      "int8",
      positions.map((i) => waiting[i]!.id)
    )
    const [leased] = yield* sql<LeasedRow>`
      with taken as materialized (
        select id, env_id, sequences, octet_length(payload) as bytes from grp where id = any(${ids}::bigint[])
      ), numbered as (
        update run set batches = batches + 1 where id = ${runId} returning starting_step + batches - 1 as step
      ), made as (
        insert into batch (
          run_id, step, sequences, bytes, lease_token, lease_owner, lease_until, deliveries, created_at
        )
        select ${runId}, step, ${batchSize}, (select sum(bytes) from taken), ${SecureRandom.uuidV7Unsafe()}::uuid, ${owner},
          ${until}, 1, ${now}
        from numbered
        returning id, step, lease_token, deliveries
      ), assigned as (
        update grp set batch_id = made.id from made where grp.id = any(${ids}::bigint[])
      ), locked as (
        -- In one order everywhere, so that submissions and claims cannot wait for each other in a circle.
        select queued.env_id, queued.sequences from queued
        where run_id = ${runId} and (env_id, sequences) in (select env_id, sequences from taken)
        order by env_id, sequences for update
      ), counted as (
        update queued set groups = queued.groups - gone.groups, bytes = queued.bytes - gone.bytes
        from (
          select env_id, sequences, count(*) as groups, sum(bytes) as bytes
          from taken join locked using (env_id, sequences) group by env_id, sequences
        ) as gone
        where queued.run_id = ${runId} and queued.env_id = gone.env_id and queued.sequences = gone.sequences
      )
      select id, step, lease_token::text as lease_token, deliveries from made`
    return leased
  })

  /** The batch's groups in queue order; payloads from memory where they are there. */
  const groupsOf = Effect.fnUntraced(function* (
    batchId: bigint
  ): Effect.fn.Return<ReadonlyArray<StoredGroup>, SqlError> {
    const envelopes = yield* sql<Rows.EnvelopeRow>`
      select id, env_id, sequences, tokens, scores, policy_step, created_at from grp where batch_id = ${batchId} order by place`
    const held = envelopes.map(({ id }) => cache.get(String(id)))
    const missing = envelopes.filter((_, i) => held[i] === undefined).map(({ id }) => id)
    const read =
      missing.length === 0
        ? []
        : yield* sql<Rows.GroupRow>`
            select id, env_id, sequences, tokens, scores, policy_step, created_at, encoding, payload
            from grp where id = any(${Rows.array("int8", missing)}::bigint[])`
    const stored = new Map(
      (yield* Effect.forEach(read, Rows.toStoredGroup, { concurrency: "unbounded" })).map((group) => [group.id, group])
    )
    return envelopes.map((row, i) => {
      const envelope = Rows.toEnvelope(row)
      const payload = held[i] ?? stored.get(envelope.id)!.payload
      // Its turn has come; should the batch come back, the database has it.
      cache.remove(envelope.id)
      return { ...envelope, payload }
    })
  })

  const claim: Batches["claim"] = Effect.fn("PgTrajectoryStore.claim")(function* (name, { lease, owner }) {
    const leased = yield* turnOf(name).withPermits(1)(
      Effect.gen(function* () {
        const view = yield* views.get(name)
        if (view === undefined || !view.run.registered) return yield* new UnknownRun({ run: name })
        const millis = yield* Clock.currentTimeMillis
        if (!canClaim(view, millis)) return undefined
        const now = new Date(millis)
        const until = new Date(millis + Duration.toMillis(lease))
        const row = yield* sql.withTransaction(
          Effect.gen(function* () {
            const [run] = yield* sql<{ batch_size: number; has_free: boolean }>`
              select batch_size, exists (
                select from batch
                where run_id = run.id and acked_at is null and (lease_until is null or lease_until <= ${now})
              ) as has_free
              from run where id = ${view.run.id} and ended_at is null for no key update`
            if (run === undefined) return undefined
            const [returned] = run.has_free ? yield* redeliver(view.run.id, owner, now, until) : []
            return returned ?? (yield* form(view.run.id, run.batch_size, minimumShares(view), owner, now, until))
          })
        )
        if (row === undefined) return undefined
        changes.changed(name)
        return { row, until }
      })
    )
    if (leased === undefined) return Option.none<ClaimedBatch>()
    const { row, until } = leased
    const batch = { id: String(row.id), leaseToken: row.lease_token }
    // A claimer that goes away before it has the groups must not keep others waiting for the lease to run out.
    const groups = yield* groupsOf(row.id).pipe(Effect.onError(() => Effect.ignore(nack(batch))))
    return Option.some<ClaimedBatch>({
      ...batch,
      step: Number(row.step),
      leaseUntil: until.getTime(),
      deliveries: row.deliveries,
      groups
    })
  }, Failure.orStoreError)

  /** Runs `statement`, which names the run and the groups of the batch where the lease still holds. */
  const withLease = Effect.fnUntraced(function* (
    batch: { readonly id: string; readonly leaseToken: string },
    statement: Effect.Effect<ReadonlyArray<{ readonly name: string }>, SqlError>
  ) {
    if (!isId(batch.id) || !isToken(batch.leaseToken)) return yield* new LeaseLost({ batch: batch.id })
    const [row] = yield* statement
    if (row === undefined) return yield* new LeaseLost({ batch: batch.id })
    return row.name
  })

  const ack: Batches["ack"] = Effect.fn("PgTrajectoryStore.ack")(function* (batch) {
    const now = new Date(yield* Clock.currentTimeMillis)
    const name = yield* withLease(
      batch,
      sql<{ name: string }>`
        with acked as (
          -- Again where it is acked with this token: the first answer may have been lost.
          update batch set acked_at = coalesce(acked_at, ${now}), lease_until = null
          where id = ${batch.id}::bigint and lease_token = ${batch.leaseToken}::uuid
            and (lease_until is not null or acked_at is not null)
          returning run_id
        )
        select name from run join acked on run.id = acked.run_id`
    )
    changes.changed(name)
  }, Failure.orStoreError)

  const nack: Batches["nack"] = Effect.fn("PgTrajectoryStore.nack")(function* (batch) {
    const name = yield* withLease(
      batch,
      sql<{ name: string }>`
        with returned as (
          update batch set lease_until = null
          where id = ${batch.id}::bigint and lease_token = ${batch.leaseToken}::uuid and lease_until is not null
            and acked_at is null
          returning run_id
        )
        select name from run join returned on run.id = returned.run_id`
    )
    changes.changed(name)
  }, Failure.orStoreError)

  const extendLease: Batches["extendLease"] = Effect.fn("PgTrajectoryStore.extendLease")(function* (batch, lease) {
    const until = new Date((yield* Clock.currentTimeMillis) + Duration.toMillis(lease))
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
    views.invalidate(name)
  }, Failure.orStoreError)

  return { claim, ack, nack, extendLease }
})
