/**
 * What people look at: the text of groups, the text of tokens, what environments say of themselves.
 *
 * Text is kept apart from groups, so that writing it changes no row of the queue; it goes when its group goes.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  // False: there is no text to look for. Null: nobody told.
  `alter table grp add column has_messages bool`,
  // Null in batches made before this column was.
  `alter table batch add column groups int`,

  `create table grp_text (
    group_id bigint primary key references grp on delete cascade,
    preview text,
    -- Words with a space before and after each (RolloutText); null where the group has no text.
    body text
  )`,
  // The words are in the index alone: beside the body they would take as much again.
  `create function words_of(body text) returns tsvector language sql immutable strict parallel safe
    as $$ select array_to_tsvector(array_remove(string_to_array(translate(body, E'\\n', ' '), ' '), '')) $$`,
  // A short list of pending entries: emptying it holds up whoever fills it, and every search reads it.
  `create index grp_text_words on grp_text using gin (words_of(body)) with (gin_pending_list_limit = 256)`,
  // Where most groups match, a sequential scan looks cheaper than it is: it would read the words of all groups.
  `create function groups_with_words(query tsquery) returns setof bigint
    language sql stable set enable_seqscan = off
    as $$ select group_id from grp_text where words_of(body) @@ query $$`,

  // The process that finds the text of groups, of those that share this database.
  `create table text_worker (
    id smallint primary key,
    owner uuid not null,
    held_until timestamptz not null,
    constraint text_worker_is_one check (id = 1)
  )`,

  `create table piece (
    run_id int not null,
    token_id int not null,
    text text not null,
    primary key (run_id, token_id)
  )`,

  `create table env_report (
    run_id int not null,
    env_id int not null,
    reported_at timestamptz not null,
    report json not null,
    primary key (run_id, env_id)
  )`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
