/** When a trainer last asked for a batch: one that waits holds no lease, and is known by nothing else. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(`alter table run add column trainer_seen timestamptz`)
})
