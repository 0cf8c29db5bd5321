/** Stores how a run's trainer computes advantages (`ScoreAdvantage.Recipe` in core); null if unknown. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(`alter table run add column advantages json`)
})
