import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { SqlClient } from "effect/sql"
import * as PgliteTemplate from "../src/internal/PgliteTemplate.ts"
import * as Pglite from "../src/Pglite.ts"

const isBuilt = PgliteTemplate.read() !== undefined
const absence = isBuilt ? "" : " (skipped: node packages/api/template/prepare.js has not made the template)"

const inside = <A, E>(dataDir: string | undefined, use: Effect.Effect<A, E, SqlClient.SqlClient>) =>
  Effect.provide(use, Pglite.layer(dataDir), { local: true })

/** What `initdb` draws by chance: two databases that it made apart differ. */
const identity = SqlClient.SqlClient.use(
  (sql) => sql<{ id: string }>`select system_identifier::text as id from pg_control_system()`
)

layer(NodeServices.layer, { excludeTestServices: true, timeout: "60 seconds" })("the embedded database", (it) => {
  const builtIt = isBuilt ? it.effect : it.effect.skip

  builtIt(
    `is unpacked where it is new, in memory or in a folder, even where a killed process had begun${absence}`,
    () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        yield* fs.makeDirectory(`${folder}/pgdata.new/base`, { recursive: true })
        yield* fs.writeFileString(`${folder}/pgdata.new/PG_VERSION`, "hal")
        const first = yield* inside(folder, identity)
        assert.deepStrictEqual(yield* inside(undefined, identity), first)
        assert.deepStrictEqual((yield* fs.readDirectory(folder)).sort(), ["pgdata"])
      })
  )

  it.effect("keeps what was written, and its answers are its own", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const [one, other] = [yield* fs.makeTempDirectoryScoped(), yield* fs.makeTempDirectoryScoped()]
      const rows = SqlClient.SqlClient.use((sql) => sql`select n from kept`)
      yield* inside(
        one,
        SqlClient.SqlClient.use((sql) => sql`create table kept as select 7 as n`)
      )
      assert.deepStrictEqual(yield* inside(one, rows), [{ n: 7 }])
      assert.strictEqual((yield* Effect.exit(inside(other, rows)))._tag, "Failure")
    })
  )
})
