import { describe, it } from "@effect/vitest"
import { Layer } from "effect"
import * as Database from "../src/Database.ts"
import * as PgTrajectoryStore from "../src/PgTrajectoryStore.ts"
import * as TestPostgres from "./TestPostgres.ts"
import { suite } from "./TrajectoryStoreTest.ts"

suite("PgTrajectoryStore on PGlite", PgTrajectoryStore.layer.pipe(Layer.provide(Database.layerPglite())))

if (TestPostgres.serverUrl === undefined) {
  describe("PgTrajectoryStore on Postgres", () => {
    it("has no server here: tested embedded only", () => {})
  })
} else {
  suite("PgTrajectoryStore on Postgres", PgTrajectoryStore.layer.pipe(Layer.provide(TestPostgres.layer)))
}
