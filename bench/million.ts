/**
 * Sends a million small groups through the store: sent, claimed and acked in one process, without HTTP. Prints, at
 * every tenth, the rate since the last line, and the sizes of tables and indexes; at the end, the time a reset of a run
 * with a full queue takes until that queue is deleted.
 *
 *     node --conditions=atropos-src bench/million.ts [groups=1000000] [retained MiB=256]
 *
 * Postgres if `DATABASE_URL` is set, in a new database (requires autovacuum, which is the default), else PGlite in a
 * temporary folder. Groups of 4 x 16 tokens, 256 per submission; batches of 1024 sequences, so that it ends within
 * minutes.
 */
import { Database, PgTrajectoryStore, TrajectoryStore } from "@atropos/api"
import { PackedGroup } from "@atropos/core"
import { Effect, Layer, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import * as Bodies from "./internal/Bodies.ts"
import * as Servers from "./internal/Servers.ts"
import * as StoreRun from "./internal/StoreRun.ts"

const groups = Number(process.argv[2] ?? 1_000_000)
const retainedBytes = Number(process.argv[3] ?? 256) * 2 ** 20
const shape = { sequences: 4, tokens: 16 }
const batchSize = 1024
const atOnce = 256
/** Maximum groups ahead of the trainer, as for environments. */
const ahead = 4096
const left = Math.min(groups, 50_000)

const bodies = Array.from({ length: 64 }, (_, seed) => PackedGroup.encode(Bodies.group(shape, seed)))
const run = "million"

const mebibytes = (bytes: number) => (bytes / 2 ** 20).toFixed(0)

const sizes = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ name: string; heap: number; indexes: number; rows: number }>`
    select relname as name, pg_table_size(relid)::float8 as heap, pg_indexes_size(relid)::float8 as indexes,
      n_live_tup::float8 as rows from pg_stat_user_tables where pg_total_relation_size(relid) > 1048576 order by 1`
  const [whole] = yield* sql<{ bytes: number }>`select pg_database_size(current_database())::float8 as bytes`
  const tables = rows.map(
    ({ heap, indexes, name, rows }) => `${name} ${mebibytes(heap)} + ${mebibytes(indexes)} (${rows} rows)`
  )
  return `${mebibytes(whole!.bytes)} MiB in all; MiB of table + indexes: ${tables.join(", ")}`
})

const submitted = (count: number): ReadonlyArray<TrajectoryStore.Submission> =>
  Array.from({ length: count }, (_, i) => ({
    sequences: shape.sequences,
    tokens: shape.sequences * shape.tokens,
    scores: [1, -1, 1, -1],
    envId: 0,
    policyStep: null,
    key: null,
    hasMessages: false,
    payload: { format: "packed", bytes: bodies[i % bodies.length]! }
  }))

const seconds = (since: number) => ((performance.now() - since) / 1000).toFixed(0)

const program = Effect.gen(function* () {
  const store = yield* TrajectoryStore.TrajectoryStore
  const sql = yield* SqlClient.SqlClient
  yield* StoreRun.begin(store, run, { batchSize, groupSize: shape.sequences })
  let sent = 0
  let trained = 0
  const send = Effect.gen(function* () {
    while (sent < groups) {
      if (sent - trained >= ahead) yield* Effect.sleep("1 millis")
      else {
        const count = Math.min(atOnce, groups - sent)
        yield* store.submit(run, submitted(count))
        sent += count
      }
    }
  })
  const started = performance.now()
  let since = { at: started, trained: 0 }
  const tenth = Math.ceil(groups / 10)
  const train = Effect.gen(function* () {
    const perBatch = batchSize / shape.sequences
    while (trained + perBatch <= groups) {
      const batch = Option.getOrUndefined(yield* store.claim(run, { owner: "bench", lease: "60 seconds" }))
      if (batch === undefined) {
        yield* Effect.sleep("1 millis")
        continue
      }
      yield* store.ack(batch)
      trained += batch.groups.length
      if (trained < since.trained + tenth && trained + perBatch <= groups) continue
      const rate = (trained - since.trained) / ((performance.now() - since.at) / 1000)
      console.log(`${trained} groups in ${seconds(started)} s, ${rate.toFixed(0)}/s: ${yield* sizes}`)
      since = { at: performance.now(), trained }
    }
  })
  yield* Effect.all([send, train], { concurrency: 2 })

  for (let waiting = 0; waiting < left; waiting += atOnce) yield* store.submit(run, submitted(atOnce))
  const before = performance.now()
  yield* store.reset(run)
  const answered = performance.now()
  const waiting = sql<{ count: number }>`select count(*)::int as count from grp where batch_id is null`
  // The last group that entered the queue stays, as the example.
  while ((yield* waiting)[0]!.count > 1) yield* Effect.sleep("200 millis")
  console.log(
    `reset of a run with ${left} groups waiting: answered in ${(answered - before).toFixed(0)} ms, they were gone after ${seconds(before)} s`
  )
  // Time to sweep readings of deleted rows, and for the server to clean up its files.
  yield* Effect.sleep("10 seconds")
  console.log(`10 s after it: ${yield* sizes}`)
})

const inDatabase = (database: Layer.Layer<Database.Provides, Database.DatabaseError>) =>
  Effect.runPromise(
    program.pipe(
      Effect.provide(
        PgTrajectoryStore.layer.pipe(
          Layer.provide(
            Layer.succeed(PgTrajectoryStore.Settings, { ...PgTrajectoryStore.defaultSettings, retainedBytes })
          ),
          Layer.provideMerge(database)
        )
      )
    )
  )

const server = process.env["DATABASE_URL"]
if (server === undefined) {
  const folder = mkdtempSync(`${tmpdir()}/atropos-bench-`)
  try {
    await inDatabase(Database.layerPglite(folder))
  } finally {
    rmSync(folder, { recursive: true })
  }
} else {
  const database = await Servers.freshDatabase(server)
  try {
    await inDatabase(Database.layerPostgres(Redacted.make(database.url)))
  } finally {
    await database.drop()
  }
}
