/**
 * Measures the store alone, without HTTP: groups in, batches of 64 sequences out, status, and the longest stall of the
 * event loop.
 *
 *     node --conditions=atropos-src bench/store.ts [seconds per measurement]
 *
 * PGlite in a temporary folder; if `DATABASE_URL` is set, Postgres with a new database.
 */
import { Database, PgTrajectoryStore, TrajectoryStore } from "@atropos/api"
import { PackedGroup, type TrajectoryApiError } from "@atropos/core"
import * as PgClient from "@effect/sql-pg/PgClient"
import { Effect, Layer, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { monitorEventLoopDelay } from "node:perf_hooks"
import * as Bodies from "./internal/Bodies.ts"
import * as StoreRun from "./internal/StoreRun.ts"

const seconds = Number(process.argv[2] ?? 3)
const shape = { sequences: 8, tokens: 1000 }
const groups = Array.from({ length: 16 }, (_, seed) => Bodies.group(shape, seed))
const bodies = {
  json: groups.map((group) => new Uint8Array(Bodies.json(group, null))),
  packed: groups.map((group) => PackedGroup.encode(group))
}

const delay = monitorEventLoopDelay({ resolution: 1 })

const measure = Effect.fnUntraced(function* (
  label: string,
  work: Effect.Effect<number, TrajectoryStore.StoreError | TrajectoryApiError.QueueFull | TrajectoryStore.UnknownRun>,
  concurrency: number,
  most = Infinity
) {
  delay.reset()
  delay.enable()
  const cpu = process.cpuUsage()
  const started = performance.now()
  const end = started + seconds * 1000
  let done = 0
  yield* Effect.all(
    Array.from({ length: concurrency }, () =>
      Effect.gen(function* () {
        while (performance.now() < end && done < most) {
          const made = yield* work
          if (made === 0) return
          done += made
        }
      })
    ),
    { concurrency: "unbounded" }
  )
  const elapsed = (performance.now() - started) / 1000
  delay.disable()
  const { system, user } = process.cpuUsage(cpu)
  console.log(
    `${label.padEnd(44)} ${(done / elapsed).toFixed(0).padStart(7)}/s   this process ${((user + system) / 1e6 / elapsed).toFixed(2)} cores   longest stall ${(delay.max / 1e6).toFixed(0)} ms`
  )
  return done
})

const store = Effect.fnUntraced(function* (name: string, format: "json" | "packed") {
  const store = yield* TrajectoryStore.TrajectoryStore
  const run = `bench-${format}`
  yield* StoreRun.begin(store, run, { batchSize: 64, groupSize: 8 })
  let sent = 0
  const submit = Effect.suspend(() =>
    store.submit(run, [
      {
        sequences: 8,
        tokens: 8000,
        scores: [1, -1, 1, -1, 1, -1, 1, -1],
        envId: 0,
        policyStep: null,
        key: null,
        payload: { format, bytes: bodies[format][sent++ % 16]! }
      }
    ])
  ).pipe(Effect.as(1))
  const take = Effect.gen(function* () {
    const batch = Option.getOrUndefined(yield* store.claim(run, { owner: "bench", lease: "60 seconds" }))
    if (batch === undefined) return 0
    yield* store.ack(batch).pipe(Effect.catchTag("LeaseLost", (error) => Effect.die(error)))
    return 1
  })
  for (const concurrency of [1, 8, 32]) {
    yield* measure(`${name} ${format}: groups in, ${concurrency} senders`, submit, concurrency)
  }
  const waiting = (yield* store.summary(run)).queuedGroups
  yield* measure(
    `${name} ${format}: status at ${waiting} groups`,
    store.status(run, 0).pipe(Effect.orDie, Effect.as(1)),
    1
  )
  yield* measure(`${name} ${format}: batches out, 1 trainer`, take, 1)
  yield* measure(`${name} ${format}: batches out, 4 trainers`, take, 4)
  for (;;) if ((yield* take) === 0) break
  const both = yield* Effect.all(
    [
      measure(`${name} ${format}: both at once, in`, submit, 8),
      measure(
        `${name} ${format}: both at once, out`,
        // An empty queue does not end the measurement: it counts as almost no work.
        Effect.filterOrElse(
          take,
          (made) => made > 0,
          () => Effect.as(Effect.sleep("1 millis"), 1e-9)
        ),
        1
      )
    ],
    { concurrency: 2 }
  )
  return both
})

const program = (name: string, database: Layer.Layer<Database.Provides, Database.DatabaseError>) =>
  Effect.gen(function* () {
    for (const format of ["json", "packed"] as const) yield* store(name, format)
  }).pipe(Effect.provide(PgTrajectoryStore.layer.pipe(Layer.provide(database))))

const folder = mkdtempSync(`${tmpdir()}/atropos-bench-`)
await Effect.runPromise(program("PGlite", Database.layerPglite(folder)))
rmSync(folder, { recursive: true })

const server = process.env["DATABASE_URL"]
if (server !== undefined) {
  const name = `atropos_bench_${process.pid}`
  const admin = (statement: string) =>
    Effect.runPromise(
      SqlClient.SqlClient.use((sql) => sql.unsafe(statement)).pipe(
        Effect.provide(PgClient.layer({ url: Redacted.make(server), maxConnections: 1 }))
      )
    )
  await admin(`create database ${name}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  try {
    await Effect.runPromise(program("Postgres", Database.layerPostgres(Redacted.make(url.href))))
  } finally {
    await admin(`drop database ${name} with (force)`)
  }
}
