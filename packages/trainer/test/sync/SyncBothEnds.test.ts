/**
 * Weights pushed to servers whose request classes check every body and whose own handlers made the answers, and
 * rollouts of the same servers with what was pushed: both ends of a type are endpoints of one server.
 */
import { assert, describe, it } from "@effect/vitest"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Message, ServerManager, Tokenizer } from "@atropos/core"
import { Effect, FileSystem, Layer, References } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Waits from "../../../core/test/base/Waits.ts"
import * as ServerFixture from "../../../core/test/inference/backend/ServerFixture.ts"
import * as WeightSync from "../../src/sync/WeightSync.ts"
import { until } from "../server/TestPolicyServer.ts"

const platform = Layer.mergeAll(NodeServices.layer, FetchHttpClient.layer)

const writeAdapter: NonNullable<WeightSync.Options["writeAdapter"]> = (folder) =>
  Effect.flatMap(FileSystem.FileSystem, (fs) => fs.writeFileString(`${folder}/adapter_config.json`, "{}"))

const targets = { vllm: WeightSync.vllm, sglang: WeightSync.sglang }

/** Server, target, and where a request names its adapter. */
const servers: ReadonlyArray<readonly [name: string, kind: keyof typeof targets, key: "model" | "lora_path"]> = [
  ["vllm-0.33.0", "vllm", "model"],
  ["vllm-0.10.2", "vllm", "model"],
  ["vllm-0.8.5", "vllm", "model"],
  ["sglang-0.5.23", "sglang", "lora_path"]
]

const synced = (name: string, kind: keyof typeof targets) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const server = yield* ServerFixture.serve(ServerFixture.read(name))
    const folder = yield* fs.makeTempDirectoryScoped()
    const target = yield* targets[kind]({ url: `${server.url}/v1` })
    const quick = { firstDelay: "1 millis", maxDelay: "4 millis", attempts: 3, grace: 1, run: "r" } as const
    const sync = yield* WeightSync.make({ targets: [target], folder, writeAdapter, ...quick })
    const push = (version: number) => sync.push({ version, parameters: Float32Array.of(version) })
    return { server, push }
  })

const sampling = { messages: [Message.user("hello")], n: 2, maxTokens: 8, temperature: 0.7 }

describe("a server that is pushed to and sampled from", () => {
  for (const [name, kind, key] of servers) {
    it.live(`${name}: rollouts name the adapter that was pushed last, and its number is their version`, () =>
      Effect.gen(function* () {
        const { push, server } = yield* synced(name, kind)
        yield* push(1)
        yield* push(2)
        const layer = ServerManager.layer({
          servers: [{ baseUrl: `${server.url}/v1`, adapterPrefix: "policy-" }]
        }).pipe(Layer.provide(Tokenizer.layerBytes))
        yield* Effect.gen(function* () {
          const { chat } = yield* ServerManager.ServerManager
          // The list is looked at in the background.
          const rolled = yield* Waits.until("version 2", chat(sampling), ([one]) => one?.policyVersion === 2)
          assert.deepStrictEqual(
            rolled.map(({ policyVersion, tokens }) => [policyVersion, tokens.at(-1)]),
            [
              [2, 98],
              [2, 99]
            ]
          )
          assert.strictEqual(server.posts().at(-1)!.body[key], "policy-r-v2")
          // A version is given up after the grace; what still names it is asked again with the newest.
          yield* push(3)
          yield* push(4)
          yield* until(() => !server.loaded.includes("policy-r-v2"))
          const [newest] = yield* Waits.until("version 4", chat(sampling), ([one]) => one?.policyVersion === 4)
          assert.strictEqual(newest!.policyVersion, 4)
        }).pipe(Effect.provide(layer))
      }).pipe(Effect.provide(platform), Effect.provideService(References.MinimumLogLevel, "None"))
    )
  }

  it.live(
    "takes what is loaded already, or gone already, for done where an answer was lost, in each server's own words",
    () =>
      Effect.gen(function* () {
        for (const [name, kind] of [...servers, ["sglang-0.4.10.post2", "sglang"] as const]) {
          const { server } = yield* synced(name, kind)
          const target = yield* targets[kind]({ url: server.url })
          const adapter = {
            name: "policy-r-v7",
            version: 7,
            folder: Effect.succeed("/adapters/policy-r-v7"),
            parameters: Effect.succeed(Float32Array.of(1))
          }
          yield* target.load(adapter, false)
          const again = yield* Effect.flip(target.load(adapter, false))
          assert.match(again.message, /already/)
          assert.isTrue(again.isPermanent)
          yield* target.load(adapter, true)
          yield* target.unload(adapter.name)
          yield* target.unload(adapter.name)
          assert.deepStrictEqual(server.loaded, [], name)
        }
      }).pipe(Effect.provide(platform))
  )

  it.live("says what a vLLM without runtime adapters has to be started with", () =>
    Effect.gen(function* () {
      const server = yield* ServerFixture.serve(ServerFixture.read("vllm-0.33.0"), {
        without: ["/v1/load_lora_adapter", "/v1/unload_lora_adapter"]
      })
      const target = yield* WeightSync.vllm({ url: server.url })
      const adapter = {
        name: "policy-r-v1",
        version: 1,
        folder: Effect.succeed("/adapters"),
        parameters: Effect.succeed(Float32Array.of(1))
      }
      const error = yield* Effect.flip(target.load(adapter, false))
      assert.include(error.message, "VLLM_ALLOW_RUNTIME_LORA_UPDATING=True")
    }).pipe(Effect.provide(platform))
  )
})
