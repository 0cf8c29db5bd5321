/** What `atropos doctor` says of inference servers that answer as the real ones do. */
import { assert, describe, it } from "@effect/vitest"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { ServerSettings } from "@atropos/core"
import { Effect, References } from "effect"
import * as ServerFixture from "../../../core/test/inference/backend/ServerFixture.ts"
import * as TestServer from "../../../core/test/inference/TestServer.ts"
import * as Network from "../../src/doctor/Network.ts"

const findings = (baseUrl: string, more: Partial<ServerSettings.Server> = {}) =>
  Network.inference(ServerSettings.server.complete({ baseUrl, ...more })).pipe(
    Effect.provide([NodeHttpClient.layerUndici, NodeServices.layer]),
    Effect.provideService(References.MinimumLogLevel, "None")
  )

describe("doctor", () => {
  const servers: ReadonlyArray<readonly [name: string, mode: "raw" | "tempered" | "processed", says: string]> = [
    [
      "vllm-0.33.0",
      "processed",
      "vLLM 0.33.0, ids: yes (/inference/v1/generate), logprobs: processed, policy version: by the adapter's name, adapters: yes, tool calls: parsed by the client"
    ],
    ["vllm-0.8.5", "raw", "vLLM 0.8.5, ids: yes (/v1/completions), logprobs: raw"],
    ["sglang-0.5.23", "tempered", "SGLang 0.5.23, ids: yes (/generate), logprobs: tempered"],
    [
      "trl-1.9.2",
      "processed",
      "trl vllm-serve, ids: yes (/generate/), logprobs: processed, policy version: no, adapters: no"
    ],
    ["trl-0.24.0", "raw", "trl vllm-serve, ids: in addition to the text, logprobs: raw"],
    ["trl-0.17.0", "raw", "trl vllm-serve, ids: no, logprobs: no"],
    ["transformers-5.23.0", "raw", "transformers serve, ids: no, logprobs: no"]
  ]
  for (const [name, mode, says] of servers) {
    it.live(`says of ${name} what it is and what it gives`, () =>
      Effect.gen(function* () {
        const server = yield* ServerFixture.serve(ServerFixture.read(name), { mode })
        const [first, ...notes] = yield* findings(`${server.url}/v1`)
        assert.strictEqual(first!.status, "ok")
        assert.include(first!.found, says)
        const isPoor = says.includes("logprobs: no")
        assert.deepStrictEqual(
          notes.map(({ found, status }) => [status, found.includes("has no behaviour logprobs")]),
          isPoor ? [["note", true]] : []
        )
      })
    )
  }

  it.live("names what is broken: nobody there, a key that is refused, a model that it has not", () =>
    Effect.gen(function* () {
      const [down] = yield* findings(`${yield* TestServer.nobody}/v1`)
      assert.deepStrictEqual([down!.status, down!.found.includes("ECONNREFUSED")], ["broken", true])
      const fixture = ServerFixture.read("vllm-0.33.0")
      const closed = yield* ServerFixture.serve(fixture, { apiKey: "secret" })
      const [refused] = yield* findings(`${closed.url}/v1`)
      assert.deepStrictEqual([refused!.status, refused!.found.includes("rejects the API key (401)")], ["broken", true])
      const [open] = yield* findings(`${closed.url}/v1`, { apiKey: "secret" })
      assert.strictEqual(open!.status, "ok")
      const server = yield* ServerFixture.serve(fixture)
      const [, absent] = yield* findings(`${server.url}/v1`, { modelName: "other" })
      assert.strictEqual(absent!.status, "broken")
      assert.include(absent!.advice, "it has tiny")
    })
  )
})
