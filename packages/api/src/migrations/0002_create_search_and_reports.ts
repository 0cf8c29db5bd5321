/**
 * Creates tables for the viewer: text of groups, text of tokens, environment reports. Text is separate from groups, so
 * that writing it changes no row of the queue; it is deleted with its group.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  // False: there is no text. Null: not stated.
  `alter table grp add column has_messages bool`,
  // Null in batches older than this column.
  `alter table batch add column groups int`,

  `create table grp_text (
    group_id bigint primary key references grp on delete cascade,
    preview text,
    -- Words with a space before and after each (RolloutText); null where the group has no text.
    body text
  )`,
  // The words are only in the index: stored next to the body they would take as much space again.
  `create function words_of(body text) returns tsvector language sql immutable strict parallel safe
    as $$ select array_to_tsvector(array_remove(string_to_array(translate(body, E'\\n', ' '), ' '), '')) $$`,
  // A short pending list: flushing it blocks the writer, and every search reads it.
  `create index grp_text_words on grp_text using gin (words_of(body)) with (gin_pending_list_limit = 256)`,
  // If most groups match, the planner underestimates a sequential scan, which would read the words of all groups.
  `create function groups_with_words(query tsquery) returns setof bigint
    language sql stable set enable_seqscan = off
    as $$ select group_id from grp_text where words_of(body) @@ query $$`,

  // The process, of those sharing this database, that extracts the text of groups.
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
