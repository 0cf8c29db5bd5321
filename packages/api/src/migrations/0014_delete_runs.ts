/** Marks deleted runs: their name no longer resolves, and their data is removed in portions. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  `alter table run add column deleted_at timestamptz`,
  `alter table run add constraint run_deleted_has_ended check (deleted_at is null or ended_at is not null)`,
  `create index run_deleted on run (id) where deleted_at is not null`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
