/** A store on a database of its own, made for a test file and dropped after it. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { Config, Effect, Layer, Redacted } from "effect"
import * as SecureRandom from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql"
import * as Database from "../src/Database.ts"
import * as PgTrajectoryStore from "../src/PgTrajectoryStore.ts"

const serverUrl = Config.String("ATROPOS_TEST_DATABASE_URL").pipe(
  Config.withDefault("postgres://postgres@127.0.0.1:5432/postgres")
)

/** Address of a fresh database on the server. */
export const freshDatabase = Effect.gen(function* () {
  const server = yield* serverUrl
  const name = `atropos_test_${SecureRandom.uuidV7Unsafe().replaceAll("-", "")}`
  const admin = PgClient.layer({ url: Redacted.make(server), maxConnections: 1 })
  const run = (statement: string) =>
    Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(statement)).pipe(Effect.provide(admin, { local: true }))
  yield* Effect.acquireRelease(run(`create database ${name}`), () =>
    Effect.orDie(run(`drop database if exists ${name} with (force)`))
  )
  const url = new URL(server)
  url.pathname = `/${name}`
  return Redacted.make(url.toString())
})

/** On a Postgres server. */
export const layerPostgres = PgTrajectoryStore.layer.pipe(
  Layer.provide(Layer.unwrap(Effect.map(freshDatabase, (url) => Database.layerPostgres(url))))
)
