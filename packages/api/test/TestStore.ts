/**
 * A store on a database of its own, and that database, made for a test file and dropped after it: on the server of the
 * tests, else embedded.
 */
import { Layer } from "effect"
import * as Database from "../src/database/Database.ts"
import * as PgTrajectoryStore from "../src/postgres/PgTrajectoryStore.ts"
import * as TestPostgres from "./TestPostgres.ts"

export const layer = PgTrajectoryStore.layer.pipe(
  Layer.provideMerge(TestPostgres.serverUrl === undefined ? Database.layerPglite() : TestPostgres.layer)
)
