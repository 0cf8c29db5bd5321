/** The statements that put groups into the queue or the buffer. */
import { Packing, type TrajectoryApi } from "@atropos/core"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { Submission } from "../../store/TrajectoryStore.ts"
import * as Failure from "../base/Failure.ts"
import type { Stored } from "../base/Codec.ts"
import type { PayloadCache } from "../base/PayloadCache.ts"
import * as Rows from "../base/Rows.ts"

type Outcome = TrajectoryApi.SubmitOutcome

/** A submission, ready to be written. */
export interface Item {
  readonly submission: Submission
  readonly stored: Stored
  /** The sender's key, or one of our own, so that a write can be repeated after a lost connection. */
  readonly key: string
  readonly envColumn: number
}

const received: Outcome = { status: "received" }
const duplicate: Outcome = { status: "duplicate" }

const mean = (scores: ReadonlyArray<number>): number | null =>
  scores.length === 0 ? null : scores.reduce((sum, score) => sum + score, 0) / scores.length

/** The columns of the rows to insert, as arrays. */
const columns = (items: ReadonlyArray<Item>) => ({
  env: Rows.array(
    "int4",
    items.map(({ envColumn }) => envColumn)
  ),
  sequences: Rows.array(
    "int4",
    items.map(({ submission }) => submission.sequences)
  ),
  tokens: Rows.array(
    "int8",
    items.map(({ submission }) => BigInt(submission.tokens))
  ),
  // Arrays of arrays must be rectangular: each as its text.
  scores: Rows.array(
    "text",
    items.map(({ submission }) => `{${submission.scores.join(",")}}`)
  ),
  means: Rows.array(
    "float8",
    items.map(({ submission }) => mean(submission.scores))
  ),
  policySteps: Rows.array(
    "int8",
    items.map(({ submission }) => (submission.policyStep === null ? null : BigInt(submission.policyStep)))
  ),
  keys: Rows.array(
    "uuid",
    items.map(({ key }) => key)
  ),
  encodings: Rows.array(
    "int2",
    items.map(({ stored }) => stored.encoding)
  ),
  messages: Rows.array(
    "bool",
    items.map(({ submission }) => submission.hasMessages ?? null)
  ),
  payloads: Rows.array(
    "bytea",
    items.map(({ stored }) => stored.bytes)
  )
})

interface Inserted {
  readonly outcomes: ReadonlyArray<Outcome>
  readonly payloads: ReadonlyArray<readonly [id: string, payload: Submission["payload"]]>
}

/** What a group waiting in its environment's buffer is to the rule that combines them. */
interface Buffered {
  readonly id: bigint
  readonly sequences: number
}

export const make = Effect.fnUntraced(function* (cache: PayloadCache) {
  const sql = yield* SqlClient.SqlClient

  /** All groups go straight into the queue: one statement. Undefined where the run has ended meanwhile. */
  const insertQueued = Effect.fnUntraced(function* (runId: number, items: ReadonlyArray<Item>, now: Date) {
    const given = columns(items)
    const rows = yield* sql<{ id: bigint; is_stored: boolean; is_current: boolean }>`
      with input as materialized (
        select nextval('grp_order') as id, i.*
        from unnest(
          ${given.env}::int[], ${given.sequences}::int[], ${given.tokens}::bigint[], ${given.scores}::text[],
          ${given.means}::float8[], ${given.policySteps}::bigint[], ${given.keys}::uuid[], ${given.encodings}::smallint[],
          ${given.messages}::bool[]
        ) with ordinality
          as i (env_id, sequences, tokens, scores, score_mean, policy_step, submit_key, encoding, has_messages, position)
      ), stored as (
        insert into grp (
          id, run_id, env_id, sequences, tokens, scores, score_mean, policy_step, submit_key, place, encoding,
          has_messages, payload, created_at
        )
        select id, ${runId}, env_id, sequences, tokens, scores::float8[], score_mean, policy_step, submit_key, id, encoding,
          has_messages,
          -- Taken last: payloads in what is materialized and sorted would be copied three times, and spill to disk.
          (${given.payloads}::bytea[])[position::int], ${now}
        from (
          select * from input
          where exists (select from run where run.id = ${runId} and ended_at is null)
            and not exists (select from spent_key where spent_key.submit_key = input.submit_key)
          order by position
        ) as fresh
        on conflict (submit_key) do nothing
        returning id, env_id, sequences, octet_length(payload) as bytes
      ), counted as (
        insert into queued (run_id, env_id, sequences, groups, bytes)
        select ${runId}, env_id, sequences, count(*), sum(bytes) from stored
        group by env_id, sequences order by env_id, sequences
        on conflict (run_id, env_id, sequences)
        do update set groups = queued.groups + excluded.groups, bytes = queued.bytes + excluded.bytes
      )
      select input.id, stored.id is not null as is_stored,
        (select ended_at is null from run where run.id = ${runId}) as is_current
      from input left join stored using (id) order by position`
    if (rows.length > 0 && !rows[0]!.is_current) return undefined
    return rows.map(({ id, is_stored }, i): Outcome => {
      if (!is_stored) return duplicate
      cache.add(String(id), items[i]!.submission.payload)
      return received
    })
  })

  /**
   * Some groups are of odd sizes: their environments' rows are locked, and each group goes to the buffer or the queue
   * in turn.
   */
  const insertMixed = Effect.fnUntraced(function* (
    runId: number,
    items: ReadonlyArray<Item>,
    now: Date
  ): Effect.fn.Return<Inserted | undefined, SqlError> {
    const envs = Rows.array("int4", [...new Set(items.map(({ envColumn }) => envColumn))])
    const locked = yield* sql<{ env_id: number; group_size: number }>`
      select env_id, group_size from env where run_id = ${runId} and env_id = any(${envs}::int[])
      order by env_id for no key update`
    const wanted = new Map(locked.map(({ env_id, group_size }) => [env_id, group_size]))
    const buffers = new Map<number, Array<Buffered>>(locked.map(({ env_id }) => [env_id, []]))
    const waitingRows = yield* sql<Buffered & { readonly env_id: number }>`
      select id, env_id, sequences from grp
      where run_id = ${runId} and env_id = any(${envs}::int[]) and place is null order by id`
    for (const { env_id, id, sequences } of waitingRows) buffers.get(env_id)?.push({ id, sequences })

    const keys = Rows.array(
      "uuid",
      items.map(({ key }) => key)
    )
    const known = yield* sql<{ submit_key: string }>`
      select submit_key from grp where submit_key = any(${keys}::uuid[])
      union all select submit_key from spent_key where submit_key = any(${keys}::uuid[])`
    const spent = new Set(known.map(({ submit_key }) => submit_key))
    const fresh = items.filter(({ key }) => {
      const isNew = !spent.has(key.toLowerCase())
      spent.add(key.toLowerCase())
      return isNew
    })
    const orders = yield* sql<{ id: bigint }>`
      select nextval('grp_order') as id from generate_series(1, ${fresh.length}::int)`

    // Where each group ends up, as the original decides one after the other.
    const outcomes = new Map<Item, Outcome>()
    const entering: Array<bigint> = []
    for (const [i, item] of fresh.entries()) {
      const { id } = orders[i]!
      const want = wanted.get(item.envColumn)
      const { sequences } = item.submission
      if (want === undefined || want === sequences) {
        entering.push(id)
        outcomes.set(item, received)
        continue
      }
      const buffer = buffers.get(item.envColumn)!
      buffer.push({ id, sequences })
      const found = Packing.findGroups(
        buffer.map(({ sequences }) => sequences),
        want
      )
      entering.push(...found.map((position) => buffer[position]!.id))
      const left = buffer.filter((_, position) => !found.includes(position))
      buffers.set(item.envColumn, left)
      outcomes.set(item, { status: "buffered", bufferSize: left.reduce((sum, { sequences }) => sum + sequences, 0) })
    }

    const given = columns(fresh)
    const ids = Rows.array(
      "int8",
      orders.map(({ id }) => id)
    )
    const [inserted] = yield* sql<{ count: number; is_current: boolean }>`
      with stored as (
        insert into grp (
          id, run_id, env_id, sequences, tokens, scores, score_mean, policy_step, submit_key, encoding, has_messages,
          payload, created_at
        )
        select id, ${runId}, env_id, sequences, tokens, scores::float8[], score_mean, policy_step, submit_key, encoding,
          has_messages, payload, ${now}
        from unnest(
          ${ids}::bigint[], ${given.env}::int[], ${given.sequences}::int[], ${given.tokens}::bigint[],
          ${given.scores}::text[], ${given.means}::float8[], ${given.policySteps}::bigint[], ${given.keys}::uuid[],
          ${given.encodings}::smallint[], ${given.messages}::bool[], ${given.payloads}::bytea[]
        ) as i (id, env_id, sequences, tokens, scores, score_mean, policy_step, submit_key, encoding, has_messages, payload)
        where exists (select from run where run.id = ${runId} and ended_at is null)
        returning 1
      )
      select count(*)::int as count, (select ended_at is null from run where run.id = ${runId}) as is_current from stored`
    if (inserted?.is_current !== true) return undefined
    yield* enqueue(runId, entering)
    return {
      outcomes: items.map((item) => outcomes.get(item) ?? duplicate),
      payloads: fresh.map(({ submission }, i) => [String(orders[i]!.id), submission.payload] as const)
    }
  })

  /** Buffered groups enter the queue in the order given. */
  const enqueue = (runId: number, ids: ReadonlyArray<bigint>) => sql`
    with placed as (
      update grp set place = entering.place
      from (
        select id, nextval('grp_order') as place
        from (select id from unnest(${Rows.array("int8", ids)}::bigint[]) with ordinality as i (id, position)
          order by position) as given
      ) as entering
      where grp.id = entering.id
      returning grp.env_id, grp.sequences, octet_length(grp.payload) as bytes
    )
    insert into queued (run_id, env_id, sequences, groups, bytes)
    select ${runId}, env_id, sequences, count(*), sum(bytes) from placed
    group by env_id, sequences order by env_id, sequences
    on conflict (run_id, env_id, sequences)
    do update set groups = queued.groups + excluded.groups, bytes = queued.bytes + excluded.bytes`

  return {
    insertQueued,
    insertMixed: (runId: number, items: ReadonlyArray<Item>, now: Date) =>
      Effect.map(Failure.inTransaction(sql, insertMixed(runId, items, now)), (inserted) => {
        // What was not committed nobody would ever ask for: it would fill the cache for good.
        for (const [id, payload] of inserted?.payloads ?? []) cache.add(id, payload)
        return inserted?.outcomes
      })
  }
})
