/**
 * Inserts groups of odd sizes: they are buffered per environment until some of them add up to its group size
 * (`Packing.findGroups`), as in the original.
 */
import { Packing, type TrajectoryApi } from "@atropos/core"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { Submission } from "../../store/TrajectoryStore.ts"
import * as Failure from "../base/Failure.ts"
import type { PayloadCache } from "../base/PayloadCache.ts"
import * as Rows from "../base/Rows.ts"
import { columns, type Item } from "./InsertColumns.ts"

type Outcome = TrajectoryApi.SubmitOutcome

interface Inserted {
  readonly outcomes: ReadonlyArray<Outcome>
  readonly payloads: ReadonlyArray<readonly [id: string, payload: Submission["payload"]]>
}

/** A buffered group, as input of the combination rule. */
interface Buffered {
  readonly id: bigint
  readonly sequences: number
}

/** Places groups one after the other, as the original does; mutates `buffers`. */
const combine = (
  fresh: ReadonlyArray<{ readonly id: bigint; readonly item: Item }>,
  groupSizes: ReadonlyMap<number, number>,
  buffers: Map<number, ReadonlyArray<Buffered>>
): { readonly entering: ReadonlyArray<bigint>; readonly outcomes: ReadonlyMap<Item, Outcome> } => {
  const outcomes = new Map<Item, Outcome>()
  const entering: Array<bigint> = []
  for (const { id, item } of fresh) {
    const groupSize = groupSizes.get(item.envColumn)
    const { sequences } = item.submission
    if (groupSize === undefined || groupSize === sequences) {
      entering.push(id)
      outcomes.set(item, { status: "received" })
      continue
    }
    const buffer = [...(buffers.get(item.envColumn) ?? []), { id, sequences }]
    const positions = Packing.findGroups(
      buffer.map(({ sequences }) => sequences),
      groupSize
    )
    entering.push(...positions.map((position) => buffer[position]!.id))
    const left = buffer.filter((_, position) => !positions.includes(position))
    buffers.set(item.envColumn, left)
    outcomes.set(item, { status: "buffered", bufferSize: left.reduce((sum, { sequences }) => sum + sequences, 0) })
  }
  return { entering, outcomes }
}

export const make = Effect.fnUntraced(function* (cache: PayloadCache) {
  const sql = yield* SqlClient.SqlClient

  /** Locks the environments' rows, and buffers or queues each group in turn. */
  const insert = Effect.fnUntraced(function* (
    runId: number,
    items: ReadonlyArray<Item>,
    now: Date
  ): Effect.fn.Return<Inserted | undefined, SqlError> {
    const envs = Rows.array("int4", [...new Set(items.map(({ envColumn }) => envColumn))])
    const locked = yield* sql<{ env_id: number; group_size: number }>`
      select env_id, group_size from env where run_id = ${runId} and env_id = any(${envs}::int[])
      order by env_id for no key update`
    const groupSizes = new Map(locked.map(({ env_id, group_size }) => [env_id, group_size]))
    const buffers = new Map<number, Array<Buffered>>(locked.map(({ env_id }) => [env_id, []]))
    const waitingRows = yield* sql<Buffered & { readonly env_id: number }>`
      select id, env_id, sequences from grp
      where run_id = ${runId} and env_id = any(${envs}::int[]) and place is null order by id`
    for (const { env_id, id, sequences } of waitingRows) buffers.get(env_id)?.push({ id, sequences })

    const keys = Rows.array(
      "uuid",
      items.map(({ key }) => key)
    )
    const storedKeys = yield* sql<{ submit_key: string }>`
      select submit_key from grp where run_id = ${runId} and submit_key = any(${keys}::uuid[])
      union all
      select submit_key from spent_key where submit_key = any(${keys}::uuid[]) and run_id = ${runId}`
    const spent = new Set(storedKeys.map(({ submit_key }) => submit_key))
    const fresh = items.filter(({ key }) => {
      const isNew = !spent.has(key.toLowerCase())
      spent.add(key.toLowerCase())
      return isNew
    })
    const orders = yield* sql<{ id: bigint }>`
      select nextval('grp_order') as id from generate_series(1, ${fresh.length}::int)`

    const { entering, outcomes } = combine(
      fresh.map((item, i) => ({ id: orders[i]!.id, item })),
      groupSizes,
      buffers
    )
    const values = columns(fresh)
    const ids = Rows.array(
      "int8",
      orders.map(({ id }) => id)
    )
    const [inserted] = yield* sql<{ count: number; is_current: boolean }>`
      with stored as (
        insert into grp (
          id, run_id, env_id, sequences, tokens, scores, score_mean, policy_step, submit_key, encoding, has_messages,
          item_id, payload, created_at
        )
        select id, ${runId}, env_id, sequences, tokens, scores::float8[], score_mean, policy_step, submit_key, encoding,
          has_messages, item_id, payload, ${now}
        from unnest(
          ${ids}::bigint[], ${values.env}::int[], ${values.sequences}::int[], ${values.tokens}::bigint[],
          ${values.scores}::text[], ${values.means}::float8[], ${values.policySteps}::bigint[], ${values.keys}::uuid[],
          ${values.encodings}::smallint[], ${values.messages}::bool[], ${values.items}::text[],
          ${values.payloads}::bytea[]
        ) as i (
          id, env_id, sequences, tokens, scores, score_mean, policy_step, submit_key, encoding, has_messages, item_id, payload
        )
        where exists (select from run where run.id = ${runId} and ended_at is null)
        returning 1
      )
      select count(*)::int as count, (select ended_at is null from run where run.id = ${runId}) as is_current from stored`
    if (inserted?.is_current !== true) return undefined
    yield* enqueue(runId, entering)
    return {
      outcomes: items.map((item) => outcomes.get(item) ?? { status: "duplicate" }),
      payloads: fresh.map(({ submission }, i) => [String(orders[i]!.id), submission.payload] as const)
    }
  })

  const enqueue = (runId: number, ids: ReadonlyArray<bigint>) => sql`
    with placed as (
      update grp set place = entering.place
      from (
        select id, nextval('grp_order') as place
        from (select id from unnest(${Rows.array("int8", ids)}::bigint[]) with ordinality as i (id, position)
          order by position) as ordered
      ) as entering
      where grp.id = entering.id
      returning grp.env_id, grp.sequences, stored_bytes(grp.encoding, grp.payload) as bytes
    )
    insert into queued (run_id, env_id, sequences, groups, bytes)
    select ${runId}, env_id, sequences, count(*), sum(bytes) from placed
    group by env_id, sequences order by env_id, sequences
    on conflict (run_id, env_id, sequences)
    do update set groups = queued.groups + excluded.groups, bytes = queued.bytes + excluded.bytes`

  /** Undefined if the run has ended meanwhile. */
  return (runId: number, items: ReadonlyArray<Item>, now: Date) =>
    Effect.map(Failure.inTransaction(sql, insert(runId, items, now)), (inserted) => {
      // Uncommitted payloads would never be requested and stay in the cache forever.
      for (const [id, payload] of inserted?.payloads ?? []) cache.add(id, payload)
      return inserted?.outcomes
    })
})
