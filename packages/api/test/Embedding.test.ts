import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, layer } from "@effect/vitest"
import { TrajectoryClient, TrajectoryClientHttp } from "@atropos/core"
import { Effect, Layer, Option, Redacted } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { createServer } from "node:http"
import * as Auth from "../src/http/Auth.ts"
import * as TrajectoryService from "../src/TrajectoryService.ts"
import { plain } from "./SampleGroups.ts"
import { call, ServiceUrl, urlOf } from "./TestService.ts"
import * as TestStore from "./TestStore.ts"

/** An application of somebody else's, with routes of its own, that has the service under a path. */
const application = Layer.mergeAll(
  HttpRouter.add("GET", "/", HttpServerResponse.text("somebody else's")),
  TrajectoryService.layerAt("/training")
)

const services = Layer.effect(ServiceUrl, urlOf).pipe(
  Layer.provide(
    HttpRouter.serve(application, { disableLogger: true, disableListenLog: true }).pipe(
      Layer.provideMerge(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port: 0 }))
    )
  ),
  Layer.provide([TestStore.layer, Auth.layer(Redacted.make("environment:env-token,trainer:trainer-token"))]),
  Layer.merge(NodeHttpClient.layerUndici)
)

const spec = {
  name: "default",
  batchSize: 2,
  maxTokenLength: 64,
  startingStep: 0,
  numSteps: 10,
  checkpointDir: "",
  saveCheckpointInterval: 1,
  wandbGroup: "",
  wandbProject: ""
}

const client = (clientLayer: Layer.Layer<TrajectoryClient.Clients>) =>
  Effect.flatMap(Layer.build(clientLayer), (context) => Effect.provide(TrajectoryClient.all, context))

layer(services, { excludeTestServices: true })("the service in another application", (it) => {
  it.effect("answers under its path, and leaves the rest alone", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* call("/")).text, "somebody else's")
      assert.deepStrictEqual((yield* call("/training/v1/health/live")).json(), { status: "live", api: "v1" })
      assert.strictEqual((yield* call("/v1/health/live")).status, 404)
      assert.strictEqual((yield* call("/training/v1/openapi.json")).status, 200)
      assert.strictEqual((yield* call("/training/v1/docs")).status, 200)
      assert.strictEqual((yield* call("/training/metrics", { token: "env-token" })).status, 200)
      assert.strictEqual((yield* call("/training/v1/nothing")).json()["error"], "NotFound")
    })
  )

  it.effect("serves both kinds of client there, with their tokens", () =>
    Effect.gen(function* () {
      const url = `${yield* ServiceUrl}/training`
      const trainer = yield* client(TrajectoryClientHttp.layer({ url, token: "trainer-token" }))
      const environment = yield* client(TrajectoryClientHttp.layer({ url, token: Redacted.make("env-token") }))
      yield* trainer.registerRun(spec)
      yield* trainer.claim({ owner: "t", wait: 0, lease: "1 minute" })
      const { envId } = Option.getOrThrow(
        yield* environment.registerEnvironment({
          desiredName: "add",
          weight: 1,
          groupSize: 2,
          maxTokenLength: 64,
          minBatchAllocation: null
        })
      )
      yield* environment.submit(envId, [{ key: crypto.randomUUID(), group: plain(2) }])
      const batch = Option.getOrThrow(yield* trainer.claim({ owner: "t", wait: 0, lease: "1 minute" }))
      assert.deepStrictEqual(Array.from(batch.groups[0]!.scores), [0, 1])
      yield* trainer.ack(batch)
      assert.strictEqual((yield* Effect.flip(environment.registerRun(spec))).reason, "unauthorized")
      assert.strictEqual((yield* call("/training/info", { token: "env-token" })).status, 200)
      assert.strictEqual((yield* call("/training/info")).status, 401)
      assert.strictEqual(
        (yield* Effect.flip(trainer.savedStates.save("add_0", { step: 0, value: null }))).reason,
        "unauthorized"
      )
    })
  )
})
