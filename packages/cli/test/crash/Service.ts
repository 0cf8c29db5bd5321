/** The trajectory service as a process, on a data folder or database that outlives it. */
import { TrajectoryClient, TrajectoryClientHttp } from "@atropos/core"
import { Effect, type FileSystem, Layer, type Scope } from "effect"
import * as TestPostgres from "../../../api/test/TestPostgres.ts"
import * as InProcess from "../InProcess.ts"
import * as Atropos from "./Atropos.ts"
import type * as KillMoment from "./KillMoment.ts"

/** Where a service keeps its data, as environment variables. */
export interface ServiceFiles {
  readonly env: { readonly [name: string]: string }
}

export interface Database {
  readonly name: string
  readonly make: Effect.Effect<ServiceFiles, unknown, FileSystem.FileSystem | Scope.Scope>
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
  readonly client: TrajectoryClient.TrajectoryClient
}

export interface ServiceProcess extends Service {
  readonly process: Atropos.Running
}

const address = /trajectory service at (http:\S+)/

export interface Options {
  /** Where it listens; by default where the system likes. */
  readonly port?: number
  readonly killAt?: KillMoment.KillMoment
}

/** Starts `atropos api` on a place, and waits until it listens. */
export const start = Effect.fnUntraced(function* (place: ServiceFiles, { port = 0, killAt }: Options = {}) {
  const process = yield* Atropos.start(["api", "--port", String(port)], {
    cwd: yield* Atropos.folder,
    env: place.env,
    ...(killAt && { killAt })
  })
  const [, url = ""] = yield* process.says(address)
  return { url, process, client: yield* clientOf(url) } satisfies ServiceProcess
})

/** The same in the process of the test, which is cheaper, for one that is not killed. */
export const startHere = Effect.fnUntraced(function* (place: ServiceFiles, { port = 0 }: Pick<Options, "port"> = {}) {
  const service = yield* InProcess.start(["api", "--port", String(port)], place.env)
  const [, url = ""] = yield* service.says(address)
  return { url, client: yield* clientOf(url) } satisfies Service
})

/** A client whose connections live as long as the scope. */
export const clientOf = (url: string): Effect.Effect<TrajectoryClient.TrajectoryClient, never, Scope.Scope> =>
  Effect.flatMap(Layer.build(TrajectoryClientHttp.layer({ url })), (context) =>
    Effect.provide(TrajectoryClient.all, context)
  )
