/**
 * Adds evaluations and their samples. A run is named rather than referenced: an evaluation may precede its trainer, or
 * belong to none.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  `create table evaluation (
    id bigint generated always as identity primary key,
    key uuid not null,
    run_name text,
    name text not null,
    model text not null,
    step bigint,
    seconds float8 not null,
    figures json not null,
    -- How many there are; those that are stored may be fewer.
    samples int not null,
    recorded_at timestamptz not null,
    constraint evaluation_key_unique unique (key)
  )`,
  `create index evaluation_run on evaluation (run_name, id)`,

  `create table evaluation_sample (
    evaluation_id bigint not null references evaluation on delete cascade,
    number int not null,
    -- What lists and comparisons show (SampleHead).
    head json not null,
    -- As those of a group: 0 JSON, 1 JSON in zstd.
    encoding smallint not null,
    payload bytea not null,
    primary key (evaluation_id, number)
  )`,
  // Payloads are already compressed.
  `alter table evaluation_sample alter payload set storage external`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
