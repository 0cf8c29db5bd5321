/**
 * The bound of staleness that a run's environments wait at (null: none), what each of them has under way, and whether
 * samplers have the weights made of a batch.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  `alter table run add column wait_at_staleness int`,
  // Groups begun that are not queued, and leave for more, as the environment last told.
  `alter table env add column under_way int not null default 0`,
  `alter table batch add column is_trained bool not null default false`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
