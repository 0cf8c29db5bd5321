import { assert, layer } from "@effect/vitest"
import { Clock, Context, Effect, Exit, Layer, References, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as Database from "../../../src/database/Database.ts"
import * as PgTrajectoryStore from "../../../src/postgres/PgTrajectoryStore.ts"
import { RolloutReader } from "../../../src/store/RolloutReader.ts"
import * as RolloutText from "../../../src/rollout/RolloutText.ts"
import { TrajectoryStore } from "../../../src/store/TrajectoryStore.ts"
import * as TestPostgres from "../../TestPostgres.ts"
import { submission } from "../../store/StoreValues.ts"

const chat = (text: string) => ({
  ...submission(1, null, text),
  payload: {
    format: "json" as const,
    bytes: new TextEncoder().encode(
      JSON.stringify({ messages: [[{ role: "user", content: text }]], rest: "x".repeat(600) })
    )
  }
})

/** A store of its own on the database at hand, as another process would have it, until the scope closes. */
const open = (scope: Scope.Scope) =>
  Effect.map(Layer.buildWithScope(Layer.fresh(PgTrajectoryStore.layer), scope), (context) => ({
    store: Context.get(context, TrajectoryStore),
    reader: Context.get(context, RolloutReader)
  }))

const unindexed = (reader: RolloutReader["Service"]) =>
  Effect.map(reader.rollouts("run", { limit: 1 }), ({ unindexed }) => unindexed)

const allIndexed = (reader: RolloutReader["Service"]) =>
  TestClock.adjust("1 second").pipe(
    Effect.andThen(unindexed(reader)),
    Effect.repeat({ until: (waiting) => waiting === 0 })
  )

const found = (reader: RolloutReader["Service"], text: string) =>
  Effect.map(reader.rollouts("run", { limit: 10, text: RolloutText.parse(text)! }), ({ total }) => total)

const quiet = Effect.provideService(References.MinimumLogLevel, "None")

layer(Database.layerPglite())("the text of groups", (it) => {
  it.effect("is found although a group among them is damaged", () =>
    Effect.gen(function* () {
      const { reader, store } = yield* open(yield* Effect.scope)
      const sql = yield* SqlClient.SqlClient
      yield* store.submit("run", [chat("first"), chat("second"), chat("third")])
      // Bytes that say they are a zstd frame, and are none.
      yield* sql`update grp set encoding = 1, payload = '\\x00' where id = (select min(id) + 1 from grp)`
      yield* allIndexed(reader)
      assert.deepStrictEqual(
        yield* Effect.forEach(["first", "second", "third"], (text) => found(reader, text)),
        [1, 0, 1]
      )
    }).pipe(Effect.scoped, quiet)
  )

  it.effect("has its beginning shown to who looks before its turn, of as many as are read quickly", () =>
    Effect.gen(function* () {
      const { reader, store } = yield* open(yield* Effect.scope)
      const sql = yield* SqlClient.SqlClient
      yield* store.submit(
        "looking",
        Array.from({ length: 50 }, (_, n) => chat(`question ${n}`))
      )
      const shown = Effect.map(reader.rollouts("looking", { limit: 100 }), ({ rows, unindexed }) => ({
        previews: rows.map(({ preview }) => preview),
        unindexed
      }))
      const { previews, unindexed } = yield* shown
      assert.strictEqual(unindexed, 50)
      assert.deepStrictEqual(
        previews,
        Array.from({ length: 50 }, (_, place) => (place < 40 ? `question ${49 - place}` : null))
      )
      // As large as it is, it is not read for a look at the list.
      yield* sql`update grp set payload = decode(repeat('00', 600000), 'hex') where id = (select max(id) from grp)`
      assert.deepStrictEqual((yield* shown).previews.slice(0, 2), [null, null])
    }).pipe(Effect.scoped)
  )

  it.effect("is found after a restart, from the oldest group on", () =>
    Effect.gen(function* () {
      const before = yield* Scope.make()
      const earlier = yield* open(before)
      yield* earlier.store.submit("run", [chat("early")])
      yield* Scope.close(before, Exit.void)
      const { reader, store } = yield* open(yield* Effect.scope)
      yield* store.submit("run", [chat("late")])
      yield* allIndexed(reader)
      assert.deepStrictEqual([yield* found(reader, "early"), yield* found(reader, "late")], [1, 1])
    }).pipe(Effect.scoped)
  )
})

// Without a server here there is one process.
for (const database of TestPostgres.serverUrl === undefined ? [] : [TestPostgres.layer]) {
  layer(database)("the text of groups, several processes", (it) => {
    it.effect("is found by one of them, and by another when that one is gone", () =>
      Effect.gen(function* () {
        const one = yield* open(yield* Effect.scope)
        const two = yield* open(yield* Effect.scope)
        const sql = yield* SqlClient.SqlClient
        yield* one.store.submit("run", [chat("first")])
        yield* allIndexed(two.reader)
        yield* two.store.submit("run", [chat("second")])
        yield* allIndexed(one.reader)
        assert.deepStrictEqual([yield* found(one.reader, "first"), yield* found(two.reader, "second")], [1, 1])
        // Somebody else has the work from now on, and is gone before it did any.
        const now = new Date(yield* Clock.currentTimeMillis)
        yield* sql`update text_worker set owner = gen_random_uuid(), held_until = ${now}::timestamptz + interval '30 seconds'`
        yield* one.store.submit("run", [chat("third")])
        for (let i = 0; i < 5; i++) yield* TestClock.adjust("1 second")
        assert.strictEqual(yield* unindexed(one.reader), 1)
        yield* TestClock.adjust("26 seconds")
        yield* allIndexed(two.reader)
        assert.strictEqual(yield* found(two.reader, "third"), 1)
      }).pipe(Effect.scoped)
    )
  })
}
