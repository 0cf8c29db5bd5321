/**
 * From a trainer's new weights to rollouts that name them: `WeightSync`, the policy server, and core's manager with
 * `adapter_prefix`.
 */
import { assert, describe, it } from "@effect/vitest"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { ServerManager, Tokenizer } from "@atropos/core"
import { Effect, FileSystem, Layer, References } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Waits from "../../../core/test/base/Waits.ts"
import * as WeightSync from "../../src/sync/WeightSync.ts"
import { serve } from "../server/TestPolicyServer.ts"

describe("adapter_prefix", () => {
  it.live(
    "asks the policy server for the newest weights that a trainer has pushed, and for newer ones when those are gone",
    () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const server = yield* serve((_request, _index, { policyVersion }) => `by v${policyVersion}`, {
          readAdapter: () => Effect.succeed(new Float32Array(1))
        })
        const sync = yield* WeightSync.make({
          targets: [yield* WeightSync.targetOf(`policy+${server.url}`)],
          folder: yield* fs.makeTempDirectoryScoped(),
          run: "r",
          grace: 0,
          writeAdapter: (folder) => fs.writeFileString(`${folder}/adapter.json`, "[]")
        })
        const loaded = Effect.map(server.engine.status, ({ policies }) => policies.map(({ policy }) => policy))
        yield* sync.push({ version: 1, parameters: new Float32Array(1) })

        yield* Effect.gen(function* () {
          const servers = yield* ServerManager.ServerManager
          const group = servers.complete({ prompt: "x", n: 2, maxTokens: 16 })
          const asked = () => server.asked.at(-1)!.policy
          yield* Waits.until("the first version", group, () => asked() === "policy-r-v1")

          yield* sync.push({ version: 2, parameters: new Float32Array(1) })
          // The server gives the old ones up behind the push; the manager may not have looked again.
          let names: ReadonlyArray<string> = yield* loaded
          while (names.includes("policy-r-v1")) {
            yield* Effect.yieldNow
            names = yield* loaded
          }
          const after = yield* group
          assert.strictEqual(asked(), "policy-r-v2")
          assert.deepStrictEqual(
            after.map(({ completion, policyVersion }) => [completion, policyVersion]),
            [
              ["by v2", 2],
              ["by v2", 2]
            ]
          )
        }).pipe(
          Effect.provide(
            ServerManager.layer({
              servers: [{ serverType: "vllm", baseUrl: `${server.url}/v1`, adapterPrefix: "policy-" }]
            }).pipe(Layer.provide(Tokenizer.layerBytes))
          )
        )
      }).pipe(
        Effect.scoped,
        Effect.provide(
          Layer.mergeAll(NodeServices.layer, FetchHttpClient.layer, Layer.succeed(References.MinimumLogLevel, "None"))
        )
      )
  )
})
