/**
 * The trajectory service as a process: on a data folder or database that outlives it, at an address that stays the
 * same.
 */
import { TrajectoryClient, TrajectoryClientHttp } from "@atropos/core"
import { Effect, type FileSystem, Layer, type Scope } from "effect"
import * as TestPostgres from "../../../api/test/TestPostgres.ts"
import * as Atropos from "./Atropos.ts"

/** Where a service keeps its data, as environment variables. */
export interface Place {
  readonly env: { readonly [name: string]: string }
}

export interface Database {
  readonly name: string
  readonly make: Effect.Effect<Place, unknown, FileSystem.FileSystem | Scope.Scope>
}

/** An embedded database in a folder of its own. */
export const pglite: Database = {
  name: "PGlite",
  make: Effect.map(Atropos.folder, (folder) => ({ env: { ATROPOS_DATA_DIR: folder } }))
}

/** A database of its own on the Postgres server of this machine, if there is one. */
export const postgres: Database | undefined =
  TestPostgres.serverUrl === undefined
    ? undefined
    : { name: "Postgres", make: Effect.map(TestPostgres.freshDatabase, (url) => ({ env: { DATABASE_URL: url } })) }

/** All there are here. */
export const databases: ReadonlyArray<Database> = postgres === undefined ? [pglite] : [pglite, postgres]

/** The one that starts fastest, where it is no matter which. */
export const fastest: Database = postgres ?? pglite

export interface Service {
  readonly url: string
  readonly process: Atropos.Running
  readonly client: TrajectoryClient.TrajectoryClient
}

/** Starts `atropos api` on a place, and waits until it listens. */
export const start = Effect.fnUntraced(function* (place: Place, port: number) {
  const process = yield* Atropos.start(["api", "--port", String(port)], { cwd: yield* Atropos.folder, env: place.env })
  yield* process.says(/trajectory service at http/)
  const url = `http://127.0.0.1:${port}`
  return { url, process, client: yield* clientOf(url) } satisfies Service
})

/** A client whose connections live as long as the scope. */
export const clientOf = (url: string): Effect.Effect<TrajectoryClient.TrajectoryClient, never, Scope.Scope> =>
  Effect.flatMap(Layer.build(TrajectoryClientHttp.layer({ url })), (context) =>
    Effect.provide(TrajectoryClient.all, context)
  )
