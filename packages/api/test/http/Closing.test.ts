/** What a service that closes does with listeners that would stay for ever. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, layer } from "@effect/vitest"
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Scope, Stream } from "effect"
import { HttpClient } from "effect/http"
import { call, layer as serviceLayer, ServiceUrl } from "../TestService.ts"
import * as TestStore from "../TestStore.ts"

const runSpec = {
  name: "open",
  batch_size: 4,
  max_token_length: 64,
  starting_step: 0,
  num_steps: 10,
  checkpoint_dir: "",
  save_checkpoint_interval: 10,
  wandb_group: "",
  wandb_project: ""
}

layer(Layer.merge(TestStore.layer, NodeHttpClient.layerUndici), { excludeTestServices: true })(
  "a service that closes",
  (it) => {
    it.effect("ends event streams and answers claims that wait, and does not wait for them", () =>
      Effect.gen(function* () {
        const serving = yield* Scope.make()
        const url = Context.get(yield* Layer.buildWithScope(serviceLayer(), serving), ServiceUrl)
        const to = Effect.provideService(ServiceUrl, url)
        yield* to(call("/v1/runs", { json: runSpec }))
        const client = yield* HttpClient.HttpClient
        const listeners = yield* Effect.forEach(["events", "metrics/events"], (path) =>
          Effect.gen(function* () {
            const response = yield* client.get(`${url}/v1/runs/open/${path}`)
            const hears = yield* Deferred.make<void>()
            const whole = Stream.runForEach(response.stream, () => Deferred.succeed(hears, undefined))
            return { fiber: yield* Effect.forkChild(whole), hears }
          })
        )
        const waiting = yield* Effect.forkChild(
          to(call("/v1/runs/open/batches/claim", { json: { owner: "t", wait_seconds: 300, lease_seconds: 60 } })),
          { startImmediately: true }
        )
        // As browsers open connections ahead, and keep those that were used.
        const { hostname, port } = new URL(url)
        const silent = yield* Effect.acquireRelease(
          Effect.callback<Socket>((resume) => {
            const socket = connect(Number(port), hostname, () => resume(Effect.succeed(socket)))
          }),
          (socket) => Effect.sync(() => socket.destroy())
        )
        // The first summary has come, and the claim, which was sent before it, has been taken.
        yield* Deferred.await(listeners[0]!.hears)
        while (!((yield* to(call("/v1/runs/open"))).json()["started"] as boolean)) yield* Effect.yieldNow

        yield* Scope.close(serving, Exit.void)

        // Ended, not waited for and cut off after five seconds: that would be a failure here.
        for (const { fiber } of listeners) yield* Fiber.join(fiber)
        if (!silent.destroyed) yield* Effect.promise(() => once(silent, "close"))
        assert.strictEqual((yield* Fiber.join(waiting)).status, 204)
      })
    )
  }
)
