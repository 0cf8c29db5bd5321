/**
 * Stores the metrics by which group lists are sorted and filtered (`TrajectoryApi.GroupFigures`), extracted along with
 * the text of groups. Existing texts are extracted again, with their metrics.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  `create table grp_figure (
    group_id bigint primary key references grp on delete cascade,
    prompt text,
    length float8 not null,
    longest_best float8 not null,
    truncated float8 not null,
    tool_errors int not null,
    surprise float8,
    surprise_best float8,
    components jsonb not null
  )`,
  `create index grp_figure_prompt on grp_figure (prompt) where prompt is not null`,
  `truncate grp_text`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
