import { Layer } from "effect"
import * as Database from "../../src/database/Database.ts"
import * as PgTrajectoryStore from "../../src/postgres/PgTrajectoryStore.ts"
import { suite } from "./RolloutReaderTest.ts"
import * as TestPostgres from "../TestPostgres.ts"

suite("RolloutReader on PGlite", PgTrajectoryStore.layer.pipe(Layer.provide(Database.layerPglite())))

// Without a server here, the embedded database is tested alone.
for (const database of TestPostgres.serverUrl === undefined ? [] : [TestPostgres.layer]) {
  suite("RolloutReader on Postgres", PgTrajectoryStore.layer.pipe(Layer.provide(database)))
}
