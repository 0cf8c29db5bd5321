/** Inserts groups directly into the queue, all in one statement. */
import type { TrajectoryApi } from "@atropos/core"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { PayloadCache } from "../base/PayloadCache.ts"
import { columns, type Item } from "./InsertColumns.ts"

type Outcome = TrajectoryApi.SubmitOutcome

const received: Outcome = { status: "received" }
const duplicate: Outcome = { status: "duplicate" }

export const make = Effect.fnUntraced(function* (cache: PayloadCache) {
  const sql = yield* SqlClient.SqlClient

  /** Undefined if the run has ended meanwhile. */
  return Effect.fnUntraced(function* (runId: number, items: ReadonlyArray<Item>, now: Date) {
    const values = columns(items)
    const rows = yield* sql<{ id: bigint; is_stored: boolean; is_current: boolean }>`
      with input as materialized (
        select nextval('grp_order') as id, i.*
        from unnest(
          ${values.env}::int[], ${values.sequences}::int[], ${values.tokens}::bigint[], ${values.scores}::text[],
          ${values.means}::float8[], ${values.policySteps}::bigint[], ${values.keys}::uuid[], ${values.encodings}::smallint[],
          ${values.messages}::bool[], ${values.items}::text[]
        ) with ordinality
          as i (
            env_id, sequences, tokens, scores, score_mean, policy_step, submit_key, encoding, has_messages, item_id, position
          )
      ), stored as (
        insert into grp (
          id, run_id, env_id, sequences, tokens, scores, score_mean, policy_step, submit_key, place, encoding,
          has_messages, item_id, payload, created_at
        )
        select id, ${runId}, env_id, sequences, tokens, scores::float8[], score_mean, policy_step, submit_key, id, encoding,
          has_messages, item_id,
          -- Payloads last: materialized and sorted, they would be copied three times and spill to disk.
          (${values.payloads}::bytea[])[position::int], ${now}
        from (
          select * from input
          where exists (select from run where run.id = ${runId} and ended_at is null)
            and not exists (
              select from spent_key where spent_key.submit_key = input.submit_key and spent_key.run_id = ${runId}
            )
          order by position
        ) as fresh
        on conflict (run_id, submit_key) do nothing
        returning id, env_id, sequences, stored_bytes(encoding, payload) as bytes
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
})
