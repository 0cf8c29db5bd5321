/** Adds the settings a run was started with, as reported by its trainer and environments. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  `create table run_setting (
    run_id int not null references run on delete cascade,
    source text not null,
    kind text not null,
    -- Not jsonb: as it was written, in its order.
    settings json not null,
    recorded_at timestamptz not null,
    primary key (run_id, source)
  )`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
