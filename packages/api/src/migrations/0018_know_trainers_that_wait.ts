/**
 * When a trainer last asked for a batch: one that waits holds no lease, and is known by nothing else. And when an
 * environment came: a run that is resumed is starting, however old its last step.
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
