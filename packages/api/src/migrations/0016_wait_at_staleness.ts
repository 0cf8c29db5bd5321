/**
 * Adds the staleness bound at which a run's environments wait (null: none), the work each has in progress, and whether
 * samplers have the weights made of a batch.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  `alter table run add column wait_at_staleness int`,
  // Groups started but not queued, and permits for more, as last reported by the environment.
  `alter table env add column under_way int not null default 0`,
  `alter table batch add column is_trained bool not null default false`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
