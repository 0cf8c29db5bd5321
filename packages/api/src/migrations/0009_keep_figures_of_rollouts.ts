/**
 * Adds per-rollout metrics of a group: trained tokens, and a fingerprint of the answer. Existing groups are read again.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  `truncate grp_text, grp_figure`,
  `alter table grp_figure add column lengths int[] not null`,
  `alter table grp_figure add column answers text[] not null`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
