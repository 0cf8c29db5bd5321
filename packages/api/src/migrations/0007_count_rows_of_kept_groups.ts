/**
 * Bounds retained groups by their rows too, not only by payloads: the index of the oldest batches also has their number
 * of groups.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  // Counts the groups of batches older than the column.
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
