/**
 * Adds the time a trainer last requested a batch (a waiting one holds no lease and leaves no other trace), and the time
 * an environment registered (a resumed run is starting, regardless of its last step).
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  `alter table run add column trainer_seen timestamptz`,
  `alter table env add column registered_at timestamptz`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
