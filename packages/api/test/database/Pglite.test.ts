import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { ConfigProvider, Effect, FileSystem, Option } from "effect"
import { SqlClient } from "effect/sql"
import * as Database from "../../src/database/Database.ts"
import * as PgliteTemplate from "../../src/database/PgliteTemplate.ts"
import * as Pglite from "../../src/database/Pglite.ts"

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

layer(NodeServices.layer, { excludeTestServices: true })("the embedded database", (it) => {
  const builtIt = isBuilt ? it.effect : it.effect.skip

  it.effect("goes on where a statement is interrupted that takes long", () =>
    inside(
      undefined,
      SqlClient.SqlClient.use((sql) =>
        Effect.gen(function* () {
          const statement = (count: number) => sql`select count(*) from generate_series(1, ${count}::int) as n`
          yield* statement(1)
          // Longer and longer, until it takes long for this machine too.
          for (let count = 300_000; ; count *= 2) {
            const answered = yield* Effect.timeoutOption(statement(count), "20 millis")
            if (Option.isNone(answered)) break
          }
          const rows = yield* sql<{ n: number }>`select 7 as n`
          assert.deepStrictEqual(rows, [{ n: 7 }])
        })
      )
    )
  )

  it.effect("is new until it was opened once, and never where a server's is used", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped()
      const isNew = (more: object = {}) =>
        Effect.provide(
          Database.isNew,
          ConfigProvider.layer(ConfigProvider.fromUnknown({ ATROPOS_DATA_DIR: folder, ...more }))
        )
      assert.isTrue(yield* isNew())
      assert.isFalse(yield* isNew({ DATABASE_URL: "postgres://127.0.0.1/other" }))
      yield* inside(folder, look)
      assert.isFalse(yield* isNew())
    })
  )

  builtIt(`is unpacked where it is new, over what a killed process had begun, and is its own${absence}`, () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped()
      yield* fs.makeDirectory(`${folder}/pgdata.new/base`, { recursive: true })
      yield* fs.writeFileString(`${folder}/pgdata.new/PG_VERSION`, "hal")
      const write = SqlClient.SqlClient.use((sql) => sql`create table kept as select 7 as n`)
      const [written] = yield* inside(folder, Effect.andThen(write, look))
      assert.deepStrictEqual(written?.tables, ["kept"])
      assert.deepStrictEqual((yield* fs.readDirectory(folder)).sort(), ["lock.sqlite", "pgdata"])
      const kept = SqlClient.SqlClient.use((sql) => sql`select n from kept`)
      assert.deepStrictEqual(yield* inside(folder, kept), [{ n: 7 }])
      assert.deepStrictEqual(yield* inside(undefined, look), [{ id: written!.id, tables: [] }])
    })
  )
})
