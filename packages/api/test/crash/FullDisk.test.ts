/** The embedded database where its disk is full: it says so, keeps what it has, and goes on when there is room. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmdirSync } from "node:fs"
import { tmpdir } from "node:os"
import * as Failure from "../../src/postgres/base/Failure.ts"
import * as PgTrajectoryStore from "../../src/postgres/PgTrajectoryStore.ts"
import { TrajectoryStore } from "../../src/store/TrajectoryStore.ts"
import * as Database from "../../src/database/Database.ts"
import { spec, submission } from "../store/StoreValues.ts"
import * as Pglite from "../../src/database/Pglite.ts"

const inside = <A, E>(dataDir: string, use: Effect.Effect<A, E, SqlClient.SqlClient>) =>
  Effect.provide(use, Pglite.layer(dataDir), { local: true })

/** A disk of so many MiB in a folder; none where this user may not mount one. */
const mount = (folder: string, mebibytes: number): boolean =>
  spawnSync("mount", ["-t", "tmpfs", "-o", `size=${mebibytes}m`, "tmpfs", folder], { stdio: "ignore" }).status === 0

const disk = Effect.fnUntraced(function* (mebibytes: number) {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped()
  yield* Effect.acquireRelease(
    Effect.sync(() => mount(folder, mebibytes)),
    () => Effect.sync(() => spawnSync("umount", [folder]))
  )
  return folder
})

const probe = mkdtempSync(`${tmpdir()}/atropos-mount-`)
const mayMount = mount(probe, 1)
if (mayMount) spawnSync("umount", [probe])
rmdirSync(probe)

const eventually = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.retry(effect, { times: 6000, schedule: Schedule.spaced("50 millis") })

layer(NodeServices.layer, { excludeTestServices: true })("the embedded database", (it) => {
  const mountIt = mayMount ? it.effect : it.effect.skip
  const lack = mayMount ? "" : " (skipped: this user may not mount a disk to fill)"

  mountIt(`says why it does not open on a full disk${lack}`, () =>
    Effect.gen(function* () {
      const folder = yield* disk(20)
      const error = yield* Effect.flip(
        inside(
          folder,
          SqlClient.SqlClient.use((sql) => sql`select 1`)
        )
      )
      assert.match(error.message, /the disk of .* is full: \d+ MiB free/)
    })
  )

  mountIt(`refuses what is new on a full disk, hands out what is there, and goes on when there is room${lack}`, () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* disk(120)
      yield* Effect.gen(function* () {
        const store = yield* TrajectoryStore
        yield* store.registerRun(spec("full", 2))
        yield* store.start("full")
        yield* store.submit("full", [submission(2, null, "kept")])
        yield* store.ready
        yield* fs.writeFile(`${folder}/filling`, new Uint8Array(70 * 1024 ** 2))
        const told = yield* eventually(Effect.flip(store.ready))
        assert.match(told.message, /the disk of .* is full/)
        assert.isTrue(told.isTransient)
        const refused = yield* eventually(Effect.flip(store.submit("full", [submission(2, null, "new")])))
        assert.match(refused.message, /the disk of .* is full/)
        const claimed = yield* store.claim("full", { owner: "trainer", lease: "60 seconds" })
        assert.isTrue(claimed._tag === "Some")
        yield* fs.remove(`${folder}/filling`)
        yield* eventually(store.ready)
        yield* eventually(store.submit("full", [submission(2, null, "new")]))
      }).pipe(
        Effect.provide(PgTrajectoryStore.layer.pipe(Layer.provide(Database.layerPglite(folder))), { local: true })
      )
    })
  )

  mountIt(`that a full disk has ended is started again when there is room, with all that was answered${lack}`, () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* disk(80)
      yield* inside(
        folder,
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* sql`create table kept as select 7 as n`
          yield* fs.writeFile(`${folder}/filling`, new Uint8Array(30 * 1024 ** 2))
          // The next segment of its log does not fit.
          const write = Effect.andThen(sql`select pg_switch_wal()::text`, sql`insert into kept values (8)`)
          yield* Effect.flip(Effect.forever(write))
          const error = yield* eventually(
            Effect.filterOrFail(Effect.flip(sql`select n from kept`), (failed) => Failure.text(failed).includes("full"))
          )
          assert.match(Failure.text(error), /the disk of .* is full/)
          yield* fs.remove(`${folder}/filling`)
          spawnSync("mount", ["-o", "remount,size=120m", folder])
          const [first] = yield* eventually(sql`select n from kept order by n`)
          assert.deepStrictEqual(first, { n: 7 })
        })
      )
    })
  )
})
