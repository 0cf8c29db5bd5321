/**
 * Opens the database of the service, and creates and migrates its tables: a Postgres server if `DATABASE_URL` is set,
 * otherwise an embedded one in `ATROPOS_DATA_DIR` (default: `.atropos` in the working directory). If it is unavailable,
 * this fails within seconds with advice.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as PgMigrator from "@effect/sql-pg/PgMigrator"
import { Config, Context, Effect, Layer, Option, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { migrations } from "../migrations/index.ts"
import * as Pglite from "./Pglite.ts"

/** The database cannot be opened: wrong address, no server, no such database, or a folder in use. */
export class DatabaseError extends Schema.TaggedError<DatabaseError>()("DatabaseError", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

export interface DatabaseShape {
  readonly kind: "postgres" | "pglite"
  /** Display location, never with a password. */
  readonly location: string
}

/** The database of this process; the client itself is `SqlClient`. */
export class Database extends Context.Service<Database, DatabaseShape>()("@atropos/api/Database") {}

type Client = PgClient.PgClient | SqlClient.SqlClient
export type Provides = Database | Client

/** The tables were created or changed by another version, and would be misread. */
class ForeignTables extends Schema.TaggedError<ForeignTables>()("ForeignTables", { message: Schema.String }) {}

const table = "atropos_migration"
const known = new Set(Object.keys(migrations))

const migrate = Effect.gen(function* () {
  yield* PgMigrator.run({ loader: PgMigrator.fromRecord(migrations), table }).pipe(Effect.provide(NodeServices.layer))
  const sql = yield* SqlClient.SqlClient
  const applied = yield* sql<{ name: string }>`
    select lpad(migration_id::text, 4, '0') || '_' || name as name from ${sql(table)} order by migration_id`
  const foreign = applied.find(({ name }) => !known.has(name))
  if (foreign !== undefined) {
    const message = `its tables belong to another version of Atropos (${foreign.name}): use that version of @atropos/api, or another database`
    return yield* new ForeignTables({ message })
  }
})

const causeText = (error: SqlError): string => {
  const texts: Array<string> = []
  // The reason of a connection error is its innermost cause with a message.
  for (let at: unknown = error; at instanceof Error; at = at.cause) if (at.message !== "") texts.push(at.message)
  return texts.at(-1) ?? error.message
}

const advise = (error: SqlError, url: URL): string => {
  const reason = causeText(error)
  const database = url.pathname.slice(1)
  if (/database .* does not exist/.test(reason)) return `${reason}: create it with \`createdb ${database}\``
  if (error.reason._tag === "AuthenticationError") return `${reason}: check the user and the password in DATABASE_URL`
  if (error.reason._tag === "ConnectionError") {
    return `${reason}: is the server running? (without DATABASE_URL an embedded database is used)`
  }
  return reason
}

const parseUrl = (url: Redacted.Redacted): Effect.Effect<URL, DatabaseError> =>
  Option.match(Option.fromNullishOr(URL.parse(Redacted.value(url))), {
    onNone: () =>
      Effect.fail(
        new DatabaseError({
          message: "DATABASE_URL is not a URL: expected postgres://user:password@host:port/database"
        })
      ),
    onSome: (parsed) =>
      /^postgres(ql)?:$/.test(parsed.protocol)
        ? Effect.succeed(parsed)
        : Effect.fail(
            new DatabaseError({ message: `DATABASE_URL should begin with postgres://, not ${parsed.protocol}//` })
          )
  })

/** A Postgres server (14 or newer), with at most `maxConnections` connections of this process. */
export const layerPostgres = (
  url: Redacted.Redacted,
  options: { readonly maxConnections?: number } = {}
): Layer.Layer<Provides, DatabaseError> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const parsed = yield* parseUrl(url)
      const location = `${parsed.host}${parsed.pathname}`
      const failed = (message: string, cause?: unknown) =>
        new DatabaseError({
          message: `cannot use the database ${location}: ${message}`,
          ...(cause !== undefined && { cause })
        })
      const ready = Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`select 1`
        yield* migrate
      }).pipe(
        Effect.catchTags({
          SqlError: (error) => Effect.fail(failed(advise(error, parsed), error)),
          MigrationError: (error) => Effect.fail(failed(error.message, error)),
          ForeignTables: (error) => Effect.fail(failed(error.message, error))
        }),
        Effect.timeoutOrElse({
          duration: "30 seconds",
          orElse: () => Effect.fail(failed("no response within 30 seconds"))
        })
      )
      return Layer.merge(Layer.effectDiscard(ready), Layer.succeed(Database, { kind: "postgres", location })).pipe(
        Layer.provideMerge(
          PgClient.layer({
            url,
            maxConnections: options.maxConnections ?? 8,
            minConnections: 1,
            connectTimeout: "5 seconds",
            applicationName: "atropos",
            spanAttributes: { "atropos.database": location }
          }).pipe(
            Layer.catchTag("SqlError", (error) =>
              Layer.effectContext(Effect.fail(failed(advise(error, parsed), error)))
            )
          )
        )
      )
    })
  )

/** The embedded database in `dataDir`, or an in-memory one that ends with the layer. */
export const layerPglite = (dataDir?: string): Layer.Layer<Provides, DatabaseError> => {
  const failed = (error: { readonly message: string }) => new DatabaseError({ message: error.message, cause: error })
  return Layer.merge(
    Layer.effectDiscard(Effect.mapError(migrate, failed)),
    Layer.succeed(Database, { kind: "pglite", location: dataDir ?? "memory" })
  ).pipe(
    Layer.provideMerge(
      Pglite.layer(dataDir).pipe(
        Layer.catchTag("FolderLockError", (error) =>
          Layer.effectContext(
            Effect.fail(
              new DatabaseError({
                message: `${error.message}: stop that process, or choose another folder with ATROPOS_DATA_DIR, or share a Postgres server through DATABASE_URL`,
                cause: error
              })
            )
          )
        ),
        Layer.catchTag("PgliteError", (error) => Layer.effectContext(Effect.fail(failed(error))))
      )
    )
  )
}

const variables = Config.all({
  url: Config.option(Config.Redacted("DATABASE_URL")),
  dataDir: Config.String("ATROPOS_DATA_DIR").pipe(Config.withDefault(".atropos"))
})

/** True if `layerConfig` will make a new embedded database, which takes some seconds. */
export const isNew: Effect.Effect<boolean, Config.ConfigError> = Effect.gen(function* () {
  const { dataDir, url } = yield* variables
  return Option.isNone(url) && !(yield* Pglite.exists(dataDir))
})

/** Uses the environment variables `DATABASE_URL` and `ATROPOS_DATA_DIR`. */
export const layerConfig: Layer.Layer<Provides, DatabaseError | Config.ConfigError> = Layer.unwrap(
  Effect.gen(function* () {
    const { dataDir, url } = yield* variables
    return Option.match(url, { onNone: () => layerPglite(dataDir), onSome: (url) => layerPostgres(url) })
  })
)
