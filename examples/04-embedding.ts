/**
 * Embeds the trajectory service in another Effect application: mounted under a path of its HTTP router, next to its own
 * routes.
 *
 * Run it: `npx node --conditions=atropos-src examples/04-embedding.ts`, then open the address it prints.
 */
import { NodeHttpServer } from "@effect/platform-node"
import { Auth, Database, PgTrajectoryStore, TrajectoryService } from "@atropos/api"
import { EnvironmentClient, TrajectoryClientHttp } from "@atropos/core"
import { Console, Effect, Layer } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { createServer } from "node:http"

/** The host application's own route. */
const hello = HttpRouter.add("GET", "/hello", Effect.succeed(HttpServerResponse.text("the host application")))

const trajectories = TrajectoryService.layerAt("/atropos").pipe(
  Layer.provide([PgTrajectoryStore.layer.pipe(Layer.provide(Database.layerPglite())), Auth.layerOpen])
)

/** Works without tokens; rejects requests from pages of other sites. */
const host = "127.0.0.1"
const guard = TrajectoryService.guard({ host })

/** Any free port; `NodeHttpServer` is innermost, so that it listens only once the routes exist. */
export const application = HttpRouter.serve(Layer.mergeAll(hello, trajectories, guard), { disableLogger: true }).pipe(
  Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host }))
)

/** Requests both halves of the application. */
export const program = Effect.gen(function* () {
  const { address } = yield* HttpServer.HttpServer
  const url = HttpServer.formatAddress(address)
  const own = yield* Effect.promise(async () => (await fetch(`${url}/hello`)).text())
  yield* Console.log(own)
  const info = yield* EnvironmentClient.EnvironmentClient.use(({ runInfo }) => runInfo).pipe(
    Effect.provide(TrajectoryClientHttp.layer({ url: `${url}/atropos` }))
  )
  yield* Console.log(`trajectory service at ${url}/atropos: batch size ${info.batchSize}`)
}).pipe(Effect.provide(application))

if (import.meta.main) await Effect.runPromise(program)
