/** What becomes of a database that an earlier version made. */
import { NodeServices } from "@effect/platform-node"
import * as PgMigrator from "@effect/sql-pg/PgMigrator"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { migrations } from "../../src/migrations/index.ts"
import * as Database from "../../src/database/Database.ts"
import * as Pglite from "../../src/database/Pglite.ts"

const upTo = (last: string) =>
  PgMigrator.run({
    loader: PgMigrator.fromRecord(Object.fromEntries(Object.entries(migrations).filter(([name]) => name <= last)))
  })

layer(Layer.merge(Pglite.layer(undefined), NodeServices.layer), { excludeTestServices: true })("migrations", (it) => {
  it.effect("count the batches of an older database as their trainer counted its steps", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* upTo("0002_z")
      yield* sql.unsafe(`insert into run (
          name, created_at, is_registered, batch_size, max_token_length, starting_step, num_steps, checkpoint_dir,
          save_checkpoint_interval, wandb_group, wandb_project, batches
        ) values ('old', now(), true, 4, 64, 0, 10, '', 10, '', '', 3)`)
      yield* sql.unsafe(`insert into batch (
          run_id, step, sequences, bytes, lease_token, lease_owner, deliveries, created_at
        ) select run.id, step, 4, 1, gen_random_uuid(), 't', 1, now() from run cross join generate_series(0, 2) as step`)
      yield* sql.unsafe(`insert into grp (
          id, run_id, env_id, sequences, tokens, scores, submit_key, encoding, payload, created_at
        ) select 1, run.id, 0, 4, 9, '{1,0,1,0}', gen_random_uuid(), 2, '', now() from run`)
      // As the second migration left them: nobody had counted the groups of a batch.
      yield* sql.unsafe(`insert into grp (
          id, run_id, env_id, sequences, tokens, scores, submit_key, place, batch_id, encoding, payload, created_at
        ) select 10 + n, run.id, 0, 2, 9, '{1,0}', gen_random_uuid(), 10 + n, batch.id, 2, 'abc', now()
        from run join batch on batch.run_id = run.id cross join generate_series(1, 2) as n where batch.step = 1`)
      yield* upTo("9999")
      // Groups of before are there, and are nobody's item.
      assert.deepStrictEqual(yield* sql`select sequences, item_id from grp where batch_id is null`, [
        { sequences: 4, item_id: null }
      ])
      const batches = yield* sql<{ step: bigint; newest: bigint }>`
          select step, starting_step + batches as newest from batch join run on run.id = run_id order by step`
      assert.deepStrictEqual(
        batches.map(({ newest, step }) => [Number(step), Number(newest)]),
        [1, 2, 3].map((step) => [step, 3])
      )
      assert.deepStrictEqual(yield* sql`select groups from batch where groups is not null`, [{ groups: 2 }])
    })
  )

  it.effect("of a newer version are not opened by this one", () =>
    Effect.gen(function* () {
      const folder = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
      const open = <A, E, R>(use: Effect.Effect<A, E, R>) =>
        Effect.provide(use, Database.layerPglite(folder), { local: true })
      yield* open(
        SqlClient.SqlClient.use(
          (sql) => sql`insert into atropos_migration (migration_id, name) values (9999, 'of_the_future')`
        )
      )
      const { message } = yield* Effect.flip(open(Effect.void))
      assert.match(message, /a newer version of Atropos .*of_the_future.*: upgrade @atropos\/api/)
    })
  )
})
