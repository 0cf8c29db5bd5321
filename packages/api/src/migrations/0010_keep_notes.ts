/** Adds notes, labels and bookmarks on rollouts; they are deleted with their group. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  `create table note (
    group_id bigint not null references grp on delete cascade,
    -- Place in the group; -1: the group as a whole.
    rollout int not null,
    run_id int not null,
    is_bookmarked bool not null,
    labels text[] not null,
    body text not null,
    changed_at timestamptz not null,
    primary key (group_id, rollout),
    constraint note_says_something check (is_bookmarked or labels <> '{}' or body <> '')
  )`,
  `create index note_run on note (run_id, changed_at desc)`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
