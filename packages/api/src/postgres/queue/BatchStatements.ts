/** Defines the SQL statements of claims (`Batches`): look up, hand out again, form, and read a batch. */
import { Uuid } from "@atropos/core"
import type { PgTypes } from "@effect/sql-pg"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Database } from "../../database/Database.ts"
import * as Rows from "../base/Rows.ts"

export interface LeasedRow {
  readonly id: bigint
  readonly step: bigint
  readonly lease_token: string
  readonly deliveries: number
}

/** A run at the time of the lookup. */
export interface LookRow {
  readonly batch_size: number
  /** Batches formed so far; increments with each. */
  readonly batches: bigint
  readonly has_free: boolean
  /** The oldest groups of each environment and size that could fit a batch, in queue order. */
  readonly ids: ReadonlyArray<bigint> | null
  readonly env_ids: ReadonlyArray<number> | null
  readonly sequences: ReadonlyArray<number> | null
}

/** A group of a newly formed batch, together with the batch. */
export interface FormedRow extends Rows.EnvelopeRow {
  readonly batch: bigint
  readonly step: bigint
  readonly lease_token: string
}

export const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const database = yield* Database
  const claimCommits = database.kind === "postgres" ? "off" : "on"

  const redeliver = (runId: number, owner: string, now: Date, until: Date) => sql<LeasedRow>`
    update batch set lease_token = ${Uuid.v7()}::uuid, lease_owner = ${owner}, lease_until = ${until},
      deliveries = deliveries + 1, is_trained = false
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
   * Forms the batch of these groups; returns no rows if the run has formed another one since the lookup, or has ended.
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
        -- For this transaction only; see Batches for the reason.
        set_config('synchronous_commit', ${claimCommits}, true)
    ), taken as materialized (
      select grp.id, env_id, sequences, tokens, scores, policy_step, created_at, place, stored_bytes(encoding, payload) as bytes
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
      -- Locks in one order everywhere, so that submissions and claims cannot deadlock.
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

  const envelopes = (batch: bigint) => sql<Rows.EnvelopeRow>`
    select id, env_id, sequences, tokens, scores, policy_step, created_at from grp
    where batch_id = ${batch} order by place`

  const payloads = (ids: ReadonlyArray<bigint>) => sql<Pick<Rows.GroupRow, "id" | "encoding" | "payload">>`
    select id, encoding, payload from grp where id = any(${Rows.array("int8", ids)}::bigint[])`

  return { redeliver, look, form, envelopes, payloads }
})
