/**
 * Numbers a batch by the step made of it, as trainers count: 1 for the first. Before, it was the number of previous
 * steps.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  // Updated row by row, two batches would briefly have the same step.
  `alter table batch drop constraint batch_step_unique`,
  `update batch set step = step + 1`,
  `alter table batch add constraint batch_step_unique unique (run_id, step)`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
