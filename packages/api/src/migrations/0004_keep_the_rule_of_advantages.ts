/** How a run's trainer makes advantages of scores (`ScoreAdvantage.Recipe` in core); null where nobody told. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(`alter table run add column advantages json`)
})
