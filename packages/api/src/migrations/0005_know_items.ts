/** Adds the stable id of a group's item, by which the groups of an item are found; null if the sender gave none. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  `alter table grp add column item_id text`,
  `create index grp_item on grp (run_id, item_id, id) where item_id is not null`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
