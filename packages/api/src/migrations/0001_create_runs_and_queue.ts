/**
 * Creates runs, environments, groups, batches and related tables.
 *
 * A group is buffered (no place), queued (a place, no batch), then in a batch; a batch is leased, possibly several
 * times, then acked. `queued` counts queued groups per environment and size, updated in the same transaction: status
 * and packing read that table and never scan the queue.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  `create table run (
    id int generated always as identity primary key,
    name text not null,
    created_at timestamptz not null,
    -- Reset ends a run: its name is free for the next one, its consumed groups stay.
    ended_at timestamptz,
    -- False while there is only data that came before its trainer.
    is_registered bool not null,
    -- Its trainer has asked for a batch.
    is_started bool not null default false,
    batch_size int not null,
    max_token_length int not null,
    starting_step bigint not null,
    num_steps bigint not null,
    checkpoint_dir text not null,
    save_checkpoint_interval bigint not null,
    wandb_group text not null,
    wandb_project text not null,
    -- Batches handed out, redeliveries not counted: the newest one is of step starting_step + batches.
    batches bigint not null default 0,
    constraint run_batches_not_negative check (batches >= 0),
    constraint run_ends_after_creation check (ended_at >= created_at)
  )`,
  `create unique index run_current on run (name) where ended_at is null`,

  `create table env (
    run_id int not null references run,
    env_id int not null,
    desired_name text not null,
    name text not null,
    weight float8 not null,
    -- Grows when larger groups of this environment are in the queue.
    group_size int not null,
    max_token_length bigint not null,
    min_batch_allocation float8,
    is_connected bool not null default true,
    last_seen timestamptz not null,
    primary key (run_id, env_id),
    constraint env_name_unique unique (run_id, name),
    constraint env_id_not_negative check (env_id >= 0)
  )`,

  `create table batch (
    id bigint generated always as identity primary key,
    run_id int not null references run,
    step bigint not null,
    sequences int not null,
    -- Stored bytes of its groups.
    bytes bigint not null,
    lease_token uuid not null,
    lease_owner text not null,
    -- Null when given back or acked.
    lease_until timestamptz,
    deliveries int not null,
    created_at timestamptz not null,
    acked_at timestamptz,
    -- Its groups were dropped to keep storage within its bound.
    dropped_at timestamptz,
    constraint batch_step_unique unique (run_id, step),
    constraint batch_delivered check (deliveries > 0),
    constraint batch_acked_has_no_lease check (acked_at is null or lease_until is null),
    constraint batch_dropped_was_acked check (dropped_at is null or acked_at is not null)
  )`,
  `create index batch_open on batch (run_id, step) where acked_at is null`,
  `create index batch_kept on batch (id) include (bytes) where acked_at is not null and dropped_at is null`,

  `create sequence grp_order`,
  // No foreign key to run: checking it would slow every submission.
  `create table grp (
    id bigint primary key,
    run_id int not null,
    -- The id the sender gave; -2147483648 where it gave none.
    env_id int not null,
    sequences int not null,
    tokens bigint not null,
    scores float8[] not null,
    score_mean float8,
    policy_step bigint,
    submit_key uuid not null,
    -- Position in the queue; null while buffered.
    place bigint,
    batch_id bigint references batch,
    -- 0 JSON, 1 JSON in zstd, 2 packed, 3 packed in zstd.
    encoding smallint not null,
    payload bytea not null,
    created_at timestamptz not null,
    constraint grp_submit_key_unique unique (submit_key),
    constraint grp_in_batch_was_queued check (batch_id is null or place is not null),
    constraint grp_encoding_known check (encoding between 0 and 3),
    constraint grp_counts_not_negative check (sequences >= 0 and tokens >= 0)
  )`,
  // Payloads are already compressed.
  `alter table grp alter payload set storage external`,
  `create index grp_queue on grp (run_id, env_id, sequences, place) where batch_id is null and place is not null`,
  `create index grp_buffer on grp (run_id, env_id, id) where place is null`,
  `create index grp_batch on grp (batch_id) where batch_id is not null`,
  `create index grp_run on grp (run_id, id)`,

  `create table queued (
    run_id int not null,
    env_id int not null,
    sequences int not null,
    groups bigint not null,
    bytes bigint not null,
    primary key (run_id, env_id, sequences),
    constraint queued_not_negative check (groups >= 0 and bytes >= 0)
  ) with (fillfactor = 50)`,

  // Keys of dropped groups, so that late duplicates are still recognised.
  `create table spent_key (
    submit_key uuid primary key,
    dropped_at timestamptz not null
  )`,
  `create index spent_key_age on spent_key (dropped_at)`,

  `create table env_state (
    run_name text not null,
    env_name text not null,
    step bigint not null,
    value json not null,
    saved_at timestamptz not null,
    primary key (run_name, env_name)
  )`,

  `create table metric (
    id bigint generated always as identity primary key,
    run_id int not null references run,
    source text not null,
    step bigint not null,
    recorded_at timestamptz not null,
    readings json not null
  )`,
  `create index metric_run on metric (run_id, id)`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
