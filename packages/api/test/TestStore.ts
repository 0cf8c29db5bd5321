/**
 * A store on a new database, created for a test file and dropped after it: on the test server if there is one, else
 * embedded.
 */
import { Layer } from "effect"
import * as Database from "../src/database/Database.ts"
import * as PgTrajectoryStore from "../src/postgres/PgTrajectoryStore.ts"
import * as TestPostgres from "./TestPostgres.ts"

export const layer = PgTrajectoryStore.layer.pipe(
  Layer.provideMerge(TestPostgres.serverUrl === undefined ? Database.layerPglite() : TestPostgres.layer)
)
