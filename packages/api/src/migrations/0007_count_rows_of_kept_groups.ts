/**
 * What is kept of consumed groups is bounded by their rows too, not by their payloads alone: the index that the oldest
 * are found by also has how many groups a batch has.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  // Batches that were made before groups were counted: as many as there are.
  `update batch set groups = counted.groups
    from (select batch_id, count(*)::int as groups from grp where batch_id is not null group by batch_id) as counted
    where batch.id = counted.batch_id and batch.groups is null`,
  `drop index batch_kept`,
  `create index batch_kept on batch (id) include (bytes, groups) where acked_at is not null and dropped_at is null`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
