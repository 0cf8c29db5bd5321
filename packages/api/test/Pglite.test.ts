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

/** What `initdb` draws by chance, by which two databases that it made apart differ; and the tables of one's own. */
const look = SqlClient.SqlClient.use(
  (sql) => sql<{ id: string; tables: ReadonlyArray<string> }>`
    select system_identifier::text as id, array(select tablename::text from pg_tables where schemaname = 'public') as tables
    from pg_control_system()`
)

layer(NodeServices.layer, { excludeTestServices: true, timeout: "60 seconds" })("the embedded database", (it) => {
  const builtIt = isBuilt ? it.effect : it.effect.skip

  builtIt(`is unpacked where it is new, over what a killed process had begun, and is its own${absence}`, () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped()
      yield* fs.makeDirectory(`${folder}/pgdata.new/base`, { recursive: true })
      yield* fs.writeFileString(`${folder}/pgdata.new/PG_VERSION`, "hal")
      const write = SqlClient.SqlClient.use((sql) => sql`create table kept as select 7 as n`)
      const [written] = yield* inside(folder, Effect.andThen(write, look))
      assert.deepStrictEqual(written?.tables, ["kept"])
      assert.deepStrictEqual((yield* fs.readDirectory(folder)).sort(), ["pgdata"])
      const kept = SqlClient.SqlClient.use((sql) => sql`select n from kept`)
      assert.deepStrictEqual(yield* inside(folder, kept), [{ n: 7 }])
      assert.deepStrictEqual(yield* inside(undefined, look), [{ id: written!.id, tables: [] }])
    })
  )
})
