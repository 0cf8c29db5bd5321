/**
 * A batch's step is the one that is made of it, as trainers count: 1 for the first. Until here it was the number of
 * steps before it.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  // Row by row, two batches would have one step for a moment.
  `alter table batch drop constraint batch_step_unique`,
  `update batch set step = step + 1`,
  `alter table batch add constraint batch_step_unique unique (run_id, step)`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
