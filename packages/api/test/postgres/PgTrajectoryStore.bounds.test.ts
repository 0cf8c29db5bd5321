import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it, layer } from "@effect/vitest"
import { ConfigProvider, Effect, FileSystem, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as Database from "../../src/database/Database.ts"
import * as PgTrajectoryStore from "../../src/postgres/PgTrajectoryStore.ts"
import { RolloutReader } from "../../src/store/RolloutReader.ts"
import * as RolloutText from "../../src/rollout/RolloutText.ts"
import * as TrajectoryStore from "../../src/store/TrajectoryStore.ts"
import * as TestPostgres from "../TestPostgres.ts"
import { environment, spec, submission } from "../store/StoreValues.ts"

const settings: typeof PgTrajectoryStore.defaultSettings = {
  ...PgTrajectoryStore.defaultSettings,
  maxQueuedSequences: 32,
  maxQueuedBytes: 100_000,
  retainedBytes: 20_000,
  cacheBytes: 4000
}

const large = (text: string) => ({
  ...submission(8, null, text),
  // Does not compress.
  payload: { format: "packed" as const, bytes: crypto.getRandomValues(new Uint8Array(10_000)) }
})

const open = (environment: Record<string, string>) =>
  Effect.scoped(Layer.build(Database.layerConfig)).pipe(
    Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(environment))),
    Effect.flip,
    Effect.map(({ message }) => message)
  )

const database = TestPostgres.serverUrl === undefined ? Database.layerPglite() : TestPostgres.layer

layer(
  PgTrajectoryStore.layer.pipe(
    Layer.provide(Layer.succeed(PgTrajectoryStore.Settings, settings)),
    Layer.provideMerge(database)
  )
)("PgTrajectoryStore with narrow bounds", (it) => {
  const started = Effect.fnUntraced(function* (run: string) {
    const store = yield* TrajectoryStore.TrajectoryStore
    const reader = yield* RolloutReader
    yield* store.registerRun(spec(run))
    yield* store.start(run)
    return { store, reader }
  })
  it.effect("refuses submissions while the queue is full, and says when to come back", () =>
    Effect.gen(function* () {
      const { store } = yield* started("full")
      yield* store.submit(
        "full",
        Array.from({ length: 4 }, (_, i) => submission(8, null, `${i}`))
      )
      const error = yield* Effect.flip(store.submit("full", [submission(8, null, "more")]))
      assert.match(error.message, /queue of run full is full: 32 of 32 sequences/)
      assert.strictEqual(error._tag === "QueueFull" && error.retryAfterSeconds, 2)
      yield* store.claim("full", { owner: "trainer", lease: "1 minute" })
      assert.deepStrictEqual(yield* store.submit("full", [submission(8, null, "more")]), [{ status: "received" }])
    })
  )

  it.effect("keeps consumed groups up to a size, then drops the oldest, and still knows their keys", () =>
    Effect.gen(function* () {
      const { reader, store } = yield* started("kept")
      const sent = Array.from({ length: 4 }, (_, i) => large(`${i}`))
      for (const one of sent) {
        yield* store.submit("kept", [one])
        const batch = Option.getOrThrow(yield* store.claim("kept", { owner: "trainer", lease: "1 minute" }))
        assert.isTrue(Buffer.from(batch.groups[0]!.payload.bytes).equals(one.payload.bytes))
        yield* store.ack(batch)
      }
      const steps = Effect.map(reader.rollouts("kept", { limit: 10 }), ({ rows }) => rows.map(({ step }) => step))
      assert.deepStrictEqual(yield* steps, [7, 6, 5, 4])
      // Upkeep works in the database's time: let the clock go on until it has been round.
      const kept = yield* TestClock.adjust("5 seconds").pipe(
        Effect.andThen(steps),
        Effect.repeat({ until: (kept) => kept.length === 1 })
      )
      assert.deepStrictEqual(kept, [7])
      assert.deepStrictEqual(
        yield* store.submit("kept", sent),
        sent.map(() => ({ status: "duplicate" }))
      )
    })
  )

  it.effect("counts the rows of small groups towards what it keeps, and forgets batches that are long gone", () =>
    Effect.gen(function* () {
      const { reader, store } = yield* started("small")
      const sql = yield* SqlClient.SqlClient
      const count = 120
      for (let i = 0; i < count; i++) {
        yield* store.submit("small", [submission(8, null, `${i}`)])
        yield* store.ack(Option.getOrThrow(yield* store.claim("small", { owner: "trainer", lease: "1 minute" })))
      }
      const kept = Effect.map(reader.rollouts("small", { limit: 200 }), ({ rows }) => rows.length)
      // 20,000 bytes, at more than 1024 a group.
      const left = yield* TestClock.adjust("5 seconds").pipe(
        Effect.andThen(kept),
        Effect.repeat({ until: (kept) => kept < 20 })
      )
      assert.isAbove(left, 0)
      const batches = Effect.map(
        sql<{ step: bigint }>`
          select step from batch join run on run.id = batch.run_id where name = 'small' order by step`,
        (rows) => rows.map(({ step }) => Number(step))
      )
      assert.lengthOf(yield* batches, count)
      const later = yield* TestClock.adjust("61 minutes").pipe(
        Effect.andThen(batches),
        Effect.repeat({ until: ({ length }) => length < count })
      )
      // The newest hundred have their times to show.
      assert.deepStrictEqual(
        later,
        Array.from({ length: 100 }, (_, i) => 4 + count - 100 + i)
      )
    })
  )

  it.effect("drops the text of groups with them", () =>
    Effect.gen(function* () {
      const { reader, store } = yield* started("texts")
      const sql = yield* SqlClient.SqlClient
      const chat = (text: string) => ({
        ...large(text),
        payload: {
          format: "json" as const,
          bytes: new TextEncoder().encode(
            JSON.stringify({
              messages: [
                [{ role: "user", content: `${text} ${crypto.getRandomValues(new Uint8Array(9000)).join(" ")}` }]
              ]
            })
          )
        }
      })
      const search = (text: string) =>
        Effect.map(reader.rollouts("texts", { limit: 10, text: RolloutText.parse(text)! }), ({ total }) => total)
      for (const text of ["first", "second", "third"]) {
        yield* store.submit("texts", [chat(text)])
        yield* TestClock.adjust("1 second").pipe(
          Effect.andThen(reader.rollouts("texts", { limit: 1 })),
          Effect.repeat({ until: ({ unindexed }) => unindexed === 0 })
        )
        assert.strictEqual(yield* search(text), 1)
        yield* store.ack(Option.getOrThrow(yield* store.claim("texts", { owner: "trainer", lease: "1 minute" })))
      }
      yield* TestClock.adjust("5 seconds").pipe(
        Effect.andThen(search("first")),
        Effect.repeat({ until: (found) => found === 0 })
      )
      const [left] = yield* sql<{ texts: number; groups: number }>`
        select (select count(*)::int from grp_text) as texts, (select count(*)::int from grp where encoding < 2) as groups`
      assert.strictEqual(left!.texts, left!.groups)
      assert.strictEqual(yield* search("third"), 1)
    })
  )

  it.effect("removes what waited when its run was reset, but for the latest", () =>
    Effect.gen(function* () {
      const { reader, store } = yield* started("left")
      yield* store.registerEnvironment("left", environment("odd", { groupSize: 4 }))
      yield* store.submit("left", [submission(4, null, "a"), submission(4, null, "b"), submission(4, null, "c")])
      const { rows } = yield* reader.rollouts("left", { limit: 10 })
      // One that came later and never left the buffer has not been in the queue.
      assert.deepStrictEqual(yield* store.submit("left", [submission(3, 0, "buffered")]), [
        { status: "buffered", bufferSize: 3 }
      ])
      yield* store.reset("left")
      const sql = yield* SqlClient.SqlClient
      const left = yield* TestClock.adjust("5 seconds").pipe(
        Effect.andThen(sql<{ id: bigint }>`select grp.id from grp join run on run.id = run_id where name = 'left'`),
        Effect.repeat({ until: ({ length }) => length === 1 })
      )
      assert.strictEqual(String(left[0]!.id), rows[0]!.id)
      assert.strictEqual(Option.getOrThrow(yield* store.latest("left")).id, rows[0]!.id)
      yield* store.registerRun(spec("left"))
      assert.deepStrictEqual((yield* reader.rollouts("left", { limit: 10 })).rows, [])
    })
  )
})

describe("Database", () => {
  it.live("says what is wrong with a server that cannot be used", () =>
    Effect.gen(function* () {
      assert.match(yield* open({ DATABASE_URL: "mysql://localhost/x" }), /should begin with postgres:\/\//)
      assert.match(yield* open({ DATABASE_URL: "nonsense" }), /is not a URL: expected postgres:\/\//)
      assert.match(
        yield* open({ DATABASE_URL: "postgres://user:secret@127.0.0.1:1/x" }),
        /^cannot use the database 127\.0\.0\.1:1\/x: .*ECONNREFUSED.*: is the server running\?/
      )
      if (TestPostgres.serverUrl !== undefined) {
        const url = new URL(TestPostgres.serverUrl)
        url.pathname = "/atropos_that_is_not_there"
        assert.match(
          yield* open({ DATABASE_URL: url.href }),
          /database "atropos_that_is_not_there" does not exist: create it with `createdb atropos_that_is_not_there`/
        )
      }
    })
  )

  it.live("lets one process at a time into a folder, and names the other", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped({ prefix: "atropos-test-" })
      yield* Layer.build(Database.layerPglite(folder))
      const message = yield* open({ ATROPOS_DATA_DIR: folder })
      assert.include(message, `the folder ${folder} is in use by a running process (id ${process.pid})`)
      assert.match(message, /ATROPOS_DATA_DIR/)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.live("says when the folder cannot be made", () =>
    Effect.gen(function* () {
      assert.match(
        yield* open({ ATROPOS_DATA_DIR: "/dev/null/atropos" }),
        /cannot create the folder \/dev\/null\/atropos/
      )
    })
  )
})
