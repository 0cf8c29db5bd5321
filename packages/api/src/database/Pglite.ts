/**
 * Provides embedded Postgres (PGlite) through the client of a Postgres server: the same SQL, no installation.
 *
 * It runs in a separate thread with one connection and no LISTEN. With a folder, acknowledged writes survive a crash or
 * kill of the process, but not of the machine: PGlite does not sync to disk. One process per folder. A full disk stops
 * it until space is freed (`PgliteThread`).
 */
import { FolderLock } from "@atropos/core"
import * as PgClient from "@effect/sql-pg/PgClient"
import { Effect, FileSystem, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { PgliteError } from "./PgliteThread.ts"
import * as PgliteThread from "./PgliteThread.ts"

export { PgliteError } from "./PgliteThread.ts"

const filesIn = (dataDir: string): string => `${dataDir}/pgdata`

/** True if there is a database in `dataDir`. */
export const exists = (dataDir: string): Effect.Effect<boolean> =>
  Effect.flatMap(FileSystem.FileSystem, (fs) => Effect.orElseSucceed(fs.exists(filesIn(dataDir)), () => false)).pipe(
    Effect.provide(NodeServices.layer)
  )

/** A client of the database in `dataDir` (created if missing), or of one in memory. */
export const layer = (
  dataDir: string | undefined
): Layer.Layer<PgClient.PgClient | SqlClient.SqlClient, PgliteError | FolderLock.FolderLockError> =>
  Layer.unwrap(
    Effect.gen(function* () {
      if (dataDir !== undefined) {
        const fs = yield* FileSystem.FileSystem
        yield* fs
          .makeDirectory(dataDir, { recursive: true })
          .pipe(
            Effect.mapError(
              ({ message }) => new PgliteError({ message: `cannot create the folder ${dataDir}: ${message}` })
            )
          )
        yield* FolderLock.hold(dataDir)
      }
      const thread = yield* PgliteThread.make(dataDir === undefined ? undefined : filesIn(dataDir), dataDir)
      return PgClient.layer({
        username: "postgres",
        database: "postgres",
        ssl: false,
        stream: thread.connect,
        minConnections: 1,
        maxConnections: 1
      }).pipe(Layer.catchTag("SqlError", (error) => Layer.effectContext(new PgliteError({ message: error.message }))))
    })
  ).pipe(Layer.provide(NodeServices.layer))
