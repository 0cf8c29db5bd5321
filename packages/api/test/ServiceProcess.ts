/**
 * A service in a separate process on the database `DATABASE_URL`: prints its address, and serves until it is killed.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Console, Layer } from "effect"
import { HttpServer } from "effect/http"
import * as Auth from "../src/http/Auth.ts"
import * as Database from "../src/database/Database.ts"
import * as PgTrajectoryStore from "../src/postgres/PgTrajectoryStore.ts"
import * as TrajectoryService from "../src/TrajectoryService.ts"

const service = Layer.effectDiscard(HttpServer.addressFormattedWith((url) => Console.log(url))).pipe(
  Layer.provide(TrajectoryService.serve({ host: "127.0.0.1", port: 0 })),
  Layer.provide([PgTrajectoryStore.layer.pipe(Layer.provide(Database.layerConfig)), Auth.layerOpen])
)

NodeRuntime.runMain(Layer.launch(service))
