/** What the service says and does while its database fails: come again, in a line, and on as before when it is back. */
import { assert, describe, it, layer as layerOf } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { isSqlError } from "effect/sql/SqlError"
import * as Waits from "../../../core/test/base/Waits.ts"
import * as Auth from "../../src/http/Auth.ts"
import * as Database from "../../src/database/Database.ts"
import * as Failure from "../../src/postgres/base/Failure.ts"
import * as PgTrajectoryStore from "../../src/postgres/PgTrajectoryStore.ts"
import * as TrajectoryService from "../../src/TrajectoryService.ts"
import * as Proxy from "../Proxy.ts"
import * as TestPostgres from "../TestPostgres.ts"
import { get, group, post, registration } from "../v0/V0Server.ts"

const states = {
  "08006": true,
  "40001": true,
  "40P01": true,
  "53100": true,
  "53200": true,
  "53300": true,
  "57014": true,
  "57P01": true,
  "57P03": true,
  "22012": false,
  "23514": false,
  "42601": false,
  XX000: false
}

const databases = [
  ["PGlite", Database.layerPglite()] as const,
  ...(TestPostgres.serverUrl === undefined ? [] : [["Postgres", TestPostgres.layer] as const])
]

for (const [name, database] of databases) {
  layerOf(database.pipe(Layer.orDie), { excludeTestServices: true })(`failures of ${name}`, (it) => {
    it.effect.each(Object.entries(states))("of SQLSTATE %s pass: %s", ([state, isTransient]) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const error = yield* Effect.flip(
          sql.unsafe(`do $$ begin raise exception 'made' using errcode = '${state}'; end $$`)
        )
        assert(isSqlError(error))
        assert.strictEqual(Failure.storeError(error).isTransient, isTransient)
      })
    )
  })
}

describe.skipIf(TestPostgres.serverUrl === undefined)("a Postgres server", () => {
  it.live("that ends the connection of a transaction has failed, as with any other statement", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const error = yield* Effect.flip(
        Failure.inTransaction(
          sql,
          Effect.andThen(sql`create table kept (n int)`, sql`select pg_terminate_backend(pg_backend_pid())`)
        )
      )
      assert.isTrue(Failure.isTransient(error), error.message)
      assert.deepStrictEqual(yield* sql`select to_regclass('kept') as kept`, [{ kept: null }])
    }).pipe(Effect.provide(TestPostgres.layer))
  )

  it.live("that is away is told of in a line, and is there again when it is", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const heard = Logger.layer([Logger.map(Logger.formatStructured, (line) => void lines.push(JSON.stringify(line)))])
      const url = new URL(yield* TestPostgres.freshDatabase)
      const proxy = yield* Proxy.make({ host: url.hostname, port: Number(url.port || 5432) })
      url.host = `127.0.0.1:${proxy.port}`
      const context = yield* Layer.build(
        TrajectoryService.serve({ host: "127.0.0.1", port: 0 }).pipe(
          Layer.provide([PgTrajectoryStore.layer, Auth.layerOpen]),
          Layer.provide(Database.layerPostgres(Redacted.make(url.href))),
          Layer.provide(heard)
        )
      )
      yield* Effect.gen(function* () {
        const refused = Effect.fnUntraced(function* () {
          const answer = yield* post("/scored_data", group)
          assert.strictEqual(answer.status, 503, answer.text)
          assert.strictEqual(answer.headers["retry-after"], "1")
        })
        yield* post("/register", registration)
        assert.strictEqual((yield* get("/v1/health/ready")).status, 200)

        proxy.silence()
        const hanging = yield* get("/v1/health/ready")
        assert.strictEqual(hanging.status, 503)
        // Who waits for the database waits for ever.
        assert.include(hanging.text, "within two seconds")

        proxy.hangUp()
        for (let i = 0; i < 20; i++) yield* refused()
        const reset = yield* post("/v1/runs/default/reset", {})
        assert.strictEqual(reset.status, 503, reset.text)
        assert.strictEqual((yield* get("/v1/health/ready")).status, 503)
        assert.isBelow(lines.length, 12)
        for (const line of lines) assert.isBelow(line.length, 400, line)
        assert.isTrue(lines.some((line) => line.includes("requests rejected: store unavailable")))

        proxy.resume()
        yield* Waits.until("a ready service", get("/v1/health/ready"), ({ status }) => status === 200)
        assert.strictEqual((yield* post("/scored_data", group)).status, 200)
      }).pipe(Effect.provide(context))
    })
  )
})
