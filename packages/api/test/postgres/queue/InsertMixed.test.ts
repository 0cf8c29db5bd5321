import { assert, it } from "@effect/vitest"
import { Effect, Exit, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import * as Database from "../../../src/database/Database.ts"
import * as Codec from "../../../src/postgres/base/Codec.ts"
import * as InsertMixed from "../../../src/postgres/queue/InsertMixed.ts"
import * as PayloadCache from "../../../src/postgres/base/PayloadCache.ts"
import * as PgTrajectoryStore from "../../../src/postgres/PgTrajectoryStore.ts"
import { TrajectoryStore } from "../../../src/store/TrajectoryStore.ts"
import { environment, spec, submission } from "../../store/StoreValues.ts"

it.live("the cache of payloads holds none that was not committed", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const store = yield* TrajectoryStore
    const run = yield* store.registerRun(spec("cached"))
    yield* store.start("cached")
    const { envId } = Option.getOrThrow(yield* store.registerEnvironment("cached", environment("odd")))
    // Refused when all statements have succeeded: at the commit.
    yield* sql`create function refuse() returns trigger language plpgsql as 'begin raise exception ''no''; end'`
    yield* sql`create constraint trigger late after insert on grp deferrable initially deferred for each row execute function refuse()`
    const cache = PayloadCache.make(1e6)
    const added: Array<string> = []
    const insertMixed = yield* InsertMixed.make({
      ...cache,
      add: (id, payload) => {
        added.push(id)
        cache.add(id, payload)
      }
    })
    const odd = submission(2, envId, "odd")
    const item = { submission: odd, stored: yield* Codec.encode(odd.payload), key: odd.key!, envColumn: envId }
    assert.isTrue(Exit.isFailure(yield* Effect.exit(insertMixed(run.id, [item], new Date()))))
    assert.deepStrictEqual(added, [])
    yield* sql`drop trigger late on grp`
    assert.deepStrictEqual(yield* insertMixed(run.id, [item], new Date()), [{ status: "buffered", bufferSize: 2 }])
    assert.lengthOf(added, 1)
  }).pipe(Effect.provide(PgTrajectoryStore.layer.pipe(Layer.provideMerge(Database.layerPglite()))))
)
