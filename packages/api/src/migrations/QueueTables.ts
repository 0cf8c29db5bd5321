/**
 * Creates the tables of runs, environments, groups and batches.
 *
 * A group is buffered (no place), queued (a place, no batch), then in a batch; a batch is leased, possibly several
 * times, then acked. `queued` counts queued groups per environment and size, updated in the same transaction: status
 * and packing read that table and never scan the queue.
 */
export const statements: ReadonlyArray<string> = [
  `create table run (
    id int generated always as identity primary key,
    name text not null,
    created_at timestamptz not null,
    -- A reset ends a run: its name becomes free for the next one, its consumed groups stay.
    ended_at timestamptz,
    -- A deleted run is not found by its name; its data is deleted in batches.
    deleted_at timestamptz,
    -- False while it only has data received before its trainer.
    is_registered bool not null,
    -- Its trainer has requested a batch.
    is_started bool not null default false,
    -- When a trainer last requested a batch: a waiting one holds no lease.
    trainer_seen timestamptz,
    batch_size int not null,
    max_token_length int not null,
    starting_step bigint not null,
    num_steps bigint not null,
    checkpoint_dir text not null,
    save_checkpoint_interval bigint not null,
    wandb_group text not null,
    wandb_project text not null,
    -- Batches delivered, not counting redeliveries: the newest one is of step starting_step + batches.
    batches bigint not null default 0,
    -- The rule by which its trainer computes advantages (ScoreAdvantage.Recipe in core); null if unknown.
    advantages json,
    -- Staleness at which its environments wait; null: no limit.
    wait_at_staleness int,
    -- Policy version that samplers must have for new rollouts, where environments wait; null: none is known.
    policy_version bigint,
    constraint run_batches_not_negative check (batches >= 0),
    constraint run_ends_after_creation check (ended_at >= created_at),
    constraint run_deleted_has_ended check (deleted_at is null or ended_at is not null)
  )`,
  `create unique index run_current on run (name) where ended_at is null`,
  `create index run_deleted on run (id) where deleted_at is not null`,

  // The settings a run was started with, as reported by its trainer and environments.
  `create table run_setting (
    run_id int not null references run on delete cascade,
    source text not null,
    kind text not null,
    -- Not jsonb: keeps text and key order.
    settings json not null,
    recorded_at timestamptz not null,
    primary key (run_id, source)
  )`,

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
    -- A run whose environments have just registered is starting, even if its last step is old.
    registered_at timestamptz not null,
    last_seen timestamptz not null,
    -- Groups begun but not queued, and permits for more, as last reported by the environment.
    under_way int not null default 0,
    primary key (run_id, env_id),
    constraint env_name_unique unique (run_id, name),
    constraint env_id_not_negative check (env_id >= 0)
  )`,

  `create table batch (
    id bigint generated always as identity primary key,
    run_id int not null references run,
    -- The step trained on it, from 1.
    step bigint not null,
    sequences int not null,
    groups int not null,
    -- Stored bytes of its groups.
    bytes bigint not null,
    lease_token uuid not null,
    lease_owner text not null,
    -- Null once released or acked.
    lease_until timestamptz,
    deliveries int not null,
    created_at timestamptz not null,
    acked_at timestamptz,
    -- Its groups were dropped to bound storage.
    dropped_at timestamptz,
    -- Samplers have the weights trained on it.
    is_trained bool not null default false,
    constraint batch_step_unique unique (run_id, step),
    constraint batch_delivered check (deliveries > 0),
    constraint batch_acked_has_no_lease check (acked_at is null or lease_until is null),
    constraint batch_dropped_was_acked check (dropped_at is null or acked_at is not null)
  )`,
  `create index batch_open on batch (run_id, step) where acked_at is null`,
  // The oldest are dropped by bytes and by number of groups.
  `create index batch_kept on batch (id) include (bytes, groups) where acked_at is not null and dropped_at is null`,

  `create sequence grp_order`,
  // No foreign key to run: checking it would slow every submission.
  `create table grp (
    id bigint primary key,
    run_id int not null,
    -- The sender's id; -2147483648 if none.
    env_id int not null,
    sequences int not null,
    tokens bigint not null,
    scores float8[] not null,
    score_mean float8,
    policy_step bigint,
    -- Unique in its run: the same key in another run, or after a reset, is another group.
    submit_key uuid not null,
    -- Position in the queue; null while buffered.
    place bigint,
    batch_id bigint references batch,
    -- 0 JSON, 1 JSON in zstd, 2 packed, 3 packed in zstd; 4 and more: the same, in object storage.
    encoding smallint not null,
    payload bytea not null,
    created_at timestamptz not null,
    -- Null if unknown.
    has_messages bool,
    -- Identifies the groups of an item; null if the sender gave none.
    item_id text,
    constraint grp_submit_key_unique unique (run_id, submit_key),
    constraint grp_in_batch_was_queued check (batch_id is null or place is not null),
    constraint grp_encoding_known check (encoding between 0 and 7),
    constraint grp_counts_not_negative check (sequences >= 0 and tokens >= 0)
  )`,
  // Payloads are already compressed.
  `alter table grp alter payload set storage external`,
  `create index grp_queue on grp (run_id, env_id, sequences, place) where batch_id is null and place is not null`,
  `create index grp_buffer on grp (run_id, env_id, id) where place is null`,
  `create index grp_batch on grp (batch_id) where batch_id is not null`,
  `create index grp_run on grp (run_id, id)`,
  `create index grp_item on grp (run_id, item_id, id) where item_id is not null`,

  // Size of a payload in its storage; a reference to object storage ends with it in its last eight bytes.
  `create function stored_bytes(encoding smallint, payload bytea) returns bigint language sql immutable strict parallel safe
    as $$ select case when encoding < 4 then octet_length(payload)::bigint
      else ('x' || encode(substring(payload from 37 for 8), 'hex'))::bit(64)::bigint end $$`,
  `create index grp_object on grp (substring(payload for 36)) where encoding > 3`,
  `create table object_home (
    id smallint primary key,
    home uuid not null,
    constraint object_home_is_one check (id = 1)
  )`,

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
    submit_key uuid not null,
    run_id int not null,
    dropped_at timestamptz not null,
    primary key (submit_key, run_id)
  )`,
  `create index spent_key_age on spent_key (dropped_at)`,

  `create table env_state (
    run_name text not null,
    env_name text not null,
    step bigint not null,
    value json not null,
    saved_at timestamptz not null,
    primary key (run_name, env_name)
  )`
]
