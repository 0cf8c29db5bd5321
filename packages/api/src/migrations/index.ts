/** Lists the migrations in order: append only, once a version is released. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as QueueTables from "./QueueTables.ts"
import * as ReadingTables from "./ReadingTables.ts"

const createTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of [...QueueTables.statements, ...ReadingTables.statements]) yield* sql.unsafe(statement)
})

/** Groups that were indexed before have none. */
const addExpectedAnswers = SqlClient.SqlClient.use((sql) => sql`alter table grp_figure add column expected text`)

export const migrations = {
  "0001_create_tables": createTables,
  "0002_add_expected_answers": addExpectedAnswers
}
