/**
 * Scopes submission keys to a run: the same key in another run, or after a reset, is a different group. Keys of
 * previously dropped groups apply to all runs (0), since theirs is unknown.
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
