/**
 * Batches: formed when they are claimed, leased, and handed out again when a lease runs out or they were given back
 * (`Leases`).
 *
 * A claim takes two statements, and a third where payloads are not in memory. The first looks: what waits, and how many
 * batches the run has had. The second makes the batch if that number still is the same; if another process was faster,
 * the claim looks again. So steps are handed out in order and without gaps, whichever process claims, and nobody waits
 * with a lock in hand. A batch that came back goes out before a new one is formed.
 *
 * A claim does not wait for the disk. Where Postgres or its machine goes down before it is there, or before any later
 * write of the service is, it never was: its groups wait as before, its lease is lost, its step is handed out again. An
 * ack is on disk when it is answered, and with it the claim that it ends. The embedded database forces nothing to the
 * disk, and its log would wait in the memory of this process: there a claim is handed to the operating system as all
 * else is, and outlives the process.
 */
import { Packing, Uuid } from "@atropos/core"
import { Duration, Effect, Option, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import type { PgTypes } from "@effect/sql-pg"
import type { SqlError } from "effect/sql/SqlError"
import {
  type ClaimedBatch,
  type StoredGroup,
  type TrajectoryStoreShape,
  UnknownRun
} from "../../store/TrajectoryStore.ts"
import { Database } from "../../database/Database.ts"
import type { Changes } from "../base/Changes.ts"
import * as Codec from "../base/Codec.ts"
import * as Failure from "../base/Failure.ts"
import type { Leases } from "./Leases.ts"
import type { PayloadCache } from "../base/PayloadCache.ts"
import * as Rows from "../base/Rows.ts"
import type { StoreClock } from "../base/StoreClock.ts"
import type { RunView, Views } from "../base/Views.ts"

export type Batches = Pick<TrajectoryStoreShape, "claim">

interface LeasedRow {
  readonly id: bigint
  readonly step: bigint
  readonly lease_token: string
  readonly deliveries: number
}

/** A run at the moment of a look. */
interface LookRow {
  readonly batch_size: number
  /** Batches made so far: grows with each. */
  readonly batches: bigint
  readonly has_free: boolean
  /** Of each environment and size, the oldest groups that could fit into a batch, in queue order. */
  readonly ids: ReadonlyArray<bigint> | null
  readonly env_ids: ReadonlyArray<number> | null
  readonly sequences: ReadonlyArray<number> | null
}

/** A group of a batch that was just made, with the batch beside it. */
interface FormedRow extends Rows.EnvelopeRow {
  readonly batch: bigint
  readonly step: bigint
  readonly lease_token: string
}

interface Leased extends LeasedRow {
  /** In queue order. */
  readonly envelopes: ReadonlyArray<Rows.EnvelopeRow>
}

/** Whether a look into the database could find a batch, by a view that is current. */
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
  cache: PayloadCache,
  leases: Pick<Leases, "nack">,
  clock: StoreClock
): Effect.fn.Return<Batches, never, SqlClient.SqlClient | Database> {
  const sql = yield* SqlClient.SqlClient
  const database = yield* Database
  const claimCommits = database.kind === "postgres" ? "off" : "on"
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
    update batch set lease_token = ${Uuid.v7()}::uuid, lease_owner = ${owner}, lease_until = ${until},
      deliveries = deliveries + 1
    where id = (
      select id from batch
      where run_id = ${runId} and acked_at is null and (lease_until is null or lease_until <= ${now})
      order by step limit 1 for update skip locked
    )
    returning id, step, lease_token::text as lease_token, deliveries`

  const look = (runId: number, now: Date) => sql<LookRow>`
    select batch_size, batches, waiting.ids, waiting.env_ids, waiting.sequences, exists (
      select from batch
      where run_id = run.id and acked_at is null and (lease_until is null or lease_until <= ${now})
    ) as has_free
    from run cross join lateral (
      select array_agg(oldest.id order by oldest.place) as ids,
        array_agg(queued.env_id order by oldest.place) as env_ids,
        array_agg(queued.sequences order by oldest.place) as sequences
      from queued cross join lateral (
        select id, place from grp
        where grp.run_id = queued.run_id and grp.env_id = queued.env_id and grp.sequences = queued.sequences
          and batch_id is null and place is not null
        order by place limit run.batch_size / queued.sequences
      ) as oldest
      where queued.run_id = run.id and queued.groups > 0 and queued.sequences between 1 and run.batch_size
    ) as waiting
    where run.id = ${runId} and ended_at is null`

  /**
   * Makes the batch of these groups; no rows where the run has had another one since it was looked at, or has ended.
   */
  const form = (
    runId: number,
    { batch_size, batches }: LookRow,
    ids: PgTypes.Parameter,
    owner: string,
    now: Date,
    until: Date
  ) => sql<FormedRow>`
    with numbered as (
      update run set batches = batches + 1 where id = ${runId} and batches = ${batches} and ended_at is null
      returning starting_step + batches as step,
        -- For this transaction: see above.
        set_config('synchronous_commit', ${claimCommits}, true)
    ), taken as materialized (
      select grp.id, env_id, sequences, tokens, scores, policy_step, created_at, place, octet_length(payload) as bytes
      from grp cross join numbered where grp.id = any(${ids}::bigint[])
    ), made as (
      insert into batch (
        run_id, step, sequences, bytes, groups, lease_token, lease_owner, lease_until, deliveries, created_at
      )
      select ${runId}, step, ${batch_size}, (select sum(bytes) from taken), (select count(*) from taken), ${Uuid.v7()}::uuid, ${owner},
        ${until}, 1, ${now}
      from numbered
      returning id, step, lease_token
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
    select made.id as batch, made.step, made.lease_token::text as lease_token, taken.id, env_id, sequences, tokens, scores,
      policy_step, created_at
    from made cross join taken order by place`

  /** A batch that came back, or a new one; none where neither is to be had. */
  const lease = Effect.fnUntraced(function* (
    view: RunView,
    owner: string,
    now: Date,
    until: Date
  ): Effect.fn.Return<Leased | undefined, SqlError> {
    const runId = view.run.id
    const minimums = minimumShares(view)
    for (;;) {
      const [seen] = yield* look(runId, now)
      if (seen === undefined) return undefined
      const [returned] = seen.has_free ? yield* redeliver(runId, owner, now, until) : []
      if (returned !== undefined) {
        const envelopes = yield* sql<Rows.EnvelopeRow>`
          select id, env_id, sequences, tokens, scores, policy_step, created_at from grp
          where batch_id = ${returned.id} order by place`
        return { ...returned, envelopes }
      }
      const { env_ids, ids, sequences } = seen
      if (ids === null || env_ids === null || sequences === null) return undefined
      const positions = Packing.fill(
        sequences.map((size, i) => ({ size, envId: Rows.fromEnvColumn(env_ids[i]!) })),
        seen.batch_size,
        minimums
      )
      if (positions === undefined) return undefined
      const chosen = Rows.array(
        "int8",
        positions.map((i) => ids[i]!)
      )
      const envelopes = yield* form(runId, seen, chosen, owner, now, until)
      const [first] = envelopes
      if (first === undefined) continue
      return { id: first.batch, step: first.step, lease_token: first.lease_token, deliveries: 1, envelopes }
    }
  })

  /** The groups of a batch, with their payloads, from memory where they are there. */
  const groupsOf = Effect.fnUntraced(function* (
    envelopes: ReadonlyArray<Rows.EnvelopeRow>
  ): Effect.fn.Return<ReadonlyArray<StoredGroup>, SqlError> {
    const held = envelopes.map(({ id }) => cache.get(String(id)))
    const missing = envelopes.filter((_, i) => held[i] === undefined).map(({ id }) => id)
    const read =
      missing.length === 0
        ? []
        : yield* sql<Pick<Rows.GroupRow, "id" | "encoding" | "payload">>`
            select id, encoding, payload from grp where id = any(${Rows.array("int8", missing)}::bigint[])`
    const decoded = new Map(
      yield* Effect.forEach(
        read,
        ({ encoding, id, payload }) =>
          Effect.map(Codec.decode({ encoding, bytes: payload }), (payload) => [id, payload] as const),
        { concurrency: "unbounded" }
      )
    )
    return envelopes.map((row, i) => {
      const envelope = Rows.toEnvelope(row)
      // Its turn has come; should the batch come back, the database has it.
      cache.remove(envelope.id)
      // A batch's groups are never removed while it is leased.
      return { ...envelope, payload: held[i] ?? decoded.get(row.id)! }
    })
  })

  const claim: Batches["claim"] = Effect.fn("PgTrajectoryStore.claim")(function* (name, options) {
    const leased = yield* turnOf(name).withPermits(1)(
      Effect.gen(function* () {
        const { isCurrent, view } = yield* views.recent(name)
        if (view === undefined || !view.run.registered) return yield* new UnknownRun({ run: name })
        const millis = yield* clock.now
        if (isCurrent && !canClaim(view, millis)) return undefined
        const now = new Date(millis)
        const until = new Date(millis + Duration.toMillis(options.lease))
        const row = yield* lease(view, options.owner, now, until)
        if (row === undefined) return undefined
        changes.counted(name)
        return { row, until }
      })
    )
    if (leased === undefined) return Option.none<ClaimedBatch>()
    const { row, until } = leased
    const batch = { id: String(row.id), leaseToken: row.lease_token }
    // A claimer that goes away before it has the groups must not keep others waiting for the lease to run out.
    const groups = yield* groupsOf(row.envelopes).pipe(Effect.onError(() => Effect.ignore(leases.nack(batch))))
    return Option.some<ClaimedBatch>({
      ...batch,
      step: Rows.toInt(row.step),
      leaseUntil: until.getTime(),
      deliveries: row.deliveries,
      groups
    })
  }, Failure.orStoreError)

  return { claim }
})
