/**
 * A Postgres server for tests: the one of `DATABASE_URL`, else one that responds on this machine's usual port. Every
 * call of `layer` creates a new database and drops it afterwards.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { connect } from "node:net"
import * as Database from "../src/database/Database.ts"

const configured = process.env["DATABASE_URL"]

const answers = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port })
    const done = (isThere: boolean) => {
      socket.destroy()
      resolve(isThere)
    }
    socket.once("connect", () => done(true)).once("error", () => done(false))
  })

/** Address of the server; undefined if none, and only the embedded database is tested. */
export const serverUrl: string | undefined =
  configured ?? ((await answers("127.0.0.1", 5432)) ? "postgres://postgres@127.0.0.1:5432/postgres" : undefined)

/** The address of a new database, which lives as long as the scope. */
export const freshDatabase = Effect.gen(function* () {
  const server = serverUrl ?? "postgres://127.0.0.1:5432/postgres"
  const name = `atropos_test_${randomUUID().replaceAll("-", "")}`
  const admin = <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>) =>
    Effect.provide(effect, PgClient.layer({ url: Redacted.make(server), maxConnections: 1 }), { local: true })
  yield* Effect.acquireRelease(admin(SqlClient.SqlClient.use((sql) => sql.unsafe(`create database ${name}`))), () =>
    Effect.orDie(admin(SqlClient.SqlClient.use((sql) => sql.unsafe(`drop database if exists ${name} with (force)`))))
  )
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
})

/** A fresh database, migrated. */
export const layer: Layer.Layer<Database.Provides> = Layer.unwrap(
  Effect.map(freshDatabase, (url) => Database.layerPostgres(Redacted.make(url)))
).pipe(Layer.orDie)
