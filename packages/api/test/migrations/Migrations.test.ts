/** A database that another version created is not opened. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { SqlClient } from "effect/sql"
import * as Database from "../../src/database/Database.ts"

const expectedAnswers = (sql: SqlClient.SqlClient) =>
  sql`select 1 from information_schema.columns where table_name = 'grp_figure' and column_name = 'expected'`

layer(NodeServices.layer, { excludeTestServices: true })("tables", (it) => {
  const other = [
    ["of a newer version", "insert into atropos_migration (migration_id, name) values (9999, 'of_the_future')"],
    ["of a version before the first release", "update atropos_migration set name = 'create_runs_and_queue'"]
  ] as const

  it.effect("of an earlier version get what this one adds", () =>
    Effect.gen(function* () {
      const folder = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
      const open = <A, E>(use: (sql: SqlClient.SqlClient) => Effect.Effect<A, E>) =>
        Effect.provide(SqlClient.SqlClient.use(use), Database.layerPglite(folder), { local: true })
      yield* open((sql) =>
        Effect.andThen(
          sql`alter table grp_figure drop column expected`,
          sql`delete from atropos_migration where migration_id = 2`
        )
      )
      assert.lengthOf(yield* open(expectedAnswers), 1)
    })
  )

  it.effect.each(other)("%s are not opened by this one", ([, change]) =>
    Effect.gen(function* () {
      const folder = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
      const open = <A, E, R>(use: Effect.Effect<A, E, R>) =>
        Effect.provide(use, Database.layerPglite(folder), { local: true })
      yield* open(Effect.void)
      yield* open(SqlClient.SqlClient.use((sql) => sql.unsafe(change)))
      const { message } = yield* Effect.flip(open(Effect.void))
      assert.match(
        message,
        /tables belong to another version of Atropos \((9999_of_the_future|0001_create_runs_and_queue)\)/
      )
    })
  )
})
