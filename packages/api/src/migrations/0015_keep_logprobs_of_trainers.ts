/** Adds the logprobs trainers computed of their sequences; they are deleted with their group. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  `create table trained_logprob (
    group_id bigint not null references grp on delete cascade,
    -- Place in the group, from 0.
    sequence int not null,
    -- Of the weights that computed them.
    policy_version bigint not null,
    -- The first token that was recorded, from 0.
    first int not null,
    -- Single precision, little-endian; NaN where not trained.
    logprobs bytea not null,
    primary key (group_id, sequence),
    constraint trained_logprob_whole check (octet_length(logprobs) % 4 = 0),
    constraint trained_logprob_places check (sequence >= 0 and first >= 0)
  )`,
  // Floats compress poorly.
  `alter table trained_logprob alter logprobs set storage external`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
