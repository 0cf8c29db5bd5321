/** What becomes of a database that an earlier version made. */
import { NodeServices } from "@effect/platform-node"
import * as PgMigrator from "@effect/sql-pg/PgMigrator"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { migrations } from "../../src/migrations/index.ts"
import * as Pglite from "../../src/database/Pglite.ts"

const upTo = (last: string) =>
  PgMigrator.run({
    loader: PgMigrator.fromRecord(Object.fromEntries(Object.entries(migrations).filter(([name]) => name <= last)))
  })

layer(Layer.merge(Pglite.layer(undefined), NodeServices.layer), { timeout: "60 seconds", excludeTestServices: true })(
  "migrations",
  (it) => {
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
        yield* upTo("9999")
        const batches = yield* sql<{ step: bigint; newest: bigint }>`
          select step, starting_step + batches as newest from batch join run on run.id = run_id order by step`
        assert.deepStrictEqual(
          batches.map(({ newest, step }) => [Number(step), Number(newest)]),
          [1, 2, 3].map((step) => [step, 3])
        )
      })
    )
  }
)
