import { Layer } from "effect"
import * as Database from "../../src/database/Database.ts"
import * as PgTrajectoryStore from "../../src/postgres/PgTrajectoryStore.ts"
import * as TestPostgres from "../TestPostgres.ts"
import { suite } from "../store/TrajectoryStoreTest.ts"

suite("PgTrajectoryStore on PGlite", PgTrajectoryStore.layer.pipe(Layer.provide(Database.layerPglite())))

// Without a server here, the embedded database is tested alone.
for (const database of TestPostgres.serverUrl === undefined ? [] : [TestPostgres.layer]) {
  suite("PgTrajectoryStore on Postgres", PgTrajectoryStore.layer.pipe(Layer.provide(database)))
}
