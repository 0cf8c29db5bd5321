/**
 * A group's key is its run's own: the same key in another run, or after a reset, is another group. Keys of groups that
 * were dropped before are remembered for all runs (0), as it is not known of which they were.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  `alter table grp drop constraint grp_submit_key_unique`,
  `alter table grp add constraint grp_submit_key_unique unique (run_id, submit_key)`,
  `alter table spent_key add column run_id int not null default 0`,
  `alter table spent_key drop constraint spent_key_pkey`,
  `alter table spent_key add constraint spent_key_pkey primary key (submit_key, run_id)`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
