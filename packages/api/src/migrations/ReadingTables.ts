/**
 * Creates the tables for the viewer: metrics, text and metrics of groups, reports, notes, evaluations. Text and metrics
 * are separate from groups, so that writing them changes no row of the queue; they are deleted with their group.
 */
export const statements: ReadonlyArray<string> = [
  `create table metric (
    id bigint generated always as identity primary key,
    run_id int not null references run,
    source text not null,
    step bigint not null,
    recorded_at timestamptz not null,
    readings json not null
  )`,
  `create index metric_run on metric (run_id, id)`,

  `create table grp_text (
    group_id bigint primary key references grp on delete cascade,
    preview text,
    -- Words with a space before and after each (RolloutText); null if the group has no text.
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

  // The metrics by which group lists are sorted and filtered (TrajectoryApi.GroupFigures), extracted with their text.
  `create table grp_figure (
    group_id bigint primary key references grp on delete cascade,
    prompt text,
    length float8 not null,
    longest_best float8 not null,
    truncated float8 not null,
    tool_errors int not null,
    surprise float8,
    surprise_best float8,
    components jsonb not null,
    -- Per rollout: trained tokens, and a fingerprint of its answer.
    lengths int[] not null,
    answers text[] not null
  )`,
  `create index grp_figure_prompt on grp_figure (prompt) where prompt is not null`,

  // Text of each token of a run, as environments report it.
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
  )`,

  `create table note (
    group_id bigint not null references grp on delete cascade,
    -- Place in the group; -1: the whole group.
    rollout int not null,
    run_id int not null,
    is_bookmarked bool not null,
    labels text[] not null,
    body text not null,
    changed_at timestamptz not null,
    primary key (group_id, rollout),
    constraint note_says_something check (is_bookmarked or labels <> '{}' or body <> '')
  )`,
  `create index note_run on note (run_id, changed_at desc)`,

  // A run is named rather than referenced: an evaluation may precede its trainer, or belong to none.
  `create table evaluation (
    id bigint generated always as identity primary key,
    key uuid not null,
    run_name text,
    name text not null,
    model text not null,
    step bigint,
    seconds float8 not null,
    figures json not null,
    -- Total number; fewer may be stored.
    samples int not null,
    recorded_at timestamptz not null,
    constraint evaluation_key_unique unique (key)
  )`,
  `create index evaluation_run on evaluation (run_name, id)`,
  `create table evaluation_sample (
    evaluation_id bigint not null references evaluation on delete cascade,
    number int not null,
    -- Contents of lists and comparisons (SampleHead).
    head json not null,
    -- Like a group's: 0 JSON, 1 JSON in zstd.
    encoding smallint not null,
    payload bytea not null,
    primary key (evaluation_id, number)
  )`,
  // Payloads are already compressed.
  `alter table evaluation_sample alter payload set storage external`,

  // Logprobs trainers computed of their sequences.
  `create table trained_logprob (
    group_id bigint not null references grp on delete cascade,
    -- Place in the group, from 0.
    sequence int not null,
    -- Version of the weights that computed them.
    policy_version bigint not null,
    -- The first recorded token, from 0.
    first int not null,
    -- Single precision, little-endian; NaN if not trained.
    logprobs bytea not null,
    primary key (group_id, sequence),
    constraint trained_logprob_whole check (octet_length(logprobs) % 4 = 0),
    constraint trained_logprob_places check (sequence >= 0 and first >= 0)
  )`,
  // Floats compress poorly.
  `alter table trained_logprob alter logprobs set storage external`
]
