/** The tokens left by top-k, top-p and min-p, from vLLM (`--return-sampling-mask`) to a packed group. */
import { assert, describe, it } from "@effect/vitest"
import { Message, ServerManager, Tokenizer } from "@atropos/core"
import { Effect, Layer, Result, Schema } from "effect"
import { toScoredGroup } from "../../../src/definition/ToScoredGroup.ts"
import * as PackedGroup from "../../../src/service/PackedGroup.ts"
import * as SavedTrajectory from "../../../src/service/SavedTrajectory.ts"
import * as TestServer from "../TestServer.ts"
import { backendOf, quiet } from "./ProbedBackend.ts"

const tokens = [104, 105]
const mask = [[104, 7], [105]]

/** As vLLM 0.33 answers with the flag; `null` without it. */
const serve = (given: unknown) =>
  TestServer.make(
    ({ path }) => {
      if (path === "/v1/models") return { json: { data: [{ id: "tiny", owned_by: "vllm", max_model_len: 512 }] } }
      if (path === "/version") return { json: { version: "0.33.0" } }
      if (path === "/openapi.json") return { json: { paths: { "/inference/v1/generate": {} } } }
      if (path !== "/inference/v1/generate") return { status: 404, json: { detail: "Not Found" } }
      const content = tokens.map((token_id) => ({ token_id, logprob: -0.5 }))
      return {
        json: {
          choices: [{ index: 0, finish_reason: "stop", token_ids: tokens, sampling_mask: given, logprobs: { content } }]
        }
      }
    },
    { isProbed: true }
  )

const settings = { logprobsMode: "processed" } as const
const narrow = { topP: 0.9, topK: 20 } as const

describe("the sampling mask of vLLM", () => {
  it.live("comes with answers sampled with top-k or top-p, and with no others", () =>
    Effect.gen(function* () {
      const backend = yield* backendOf((yield* serve(mask)).url, settings)
      const [cut] = yield* quiet(backend.tokens({ inputIds: [1], ...narrow }))
      assert.deepStrictEqual(cut!.keptTokens, mask)
      const [whole] = yield* backend.tokens({ inputIds: [1] })
      assert.isUndefined(whole!.keptTokens)
      const without = yield* backendOf((yield* serve(null)).url, settings)
      const [plain] = yield* quiet(without.tokens({ inputIds: [1], ...narrow }))
      assert.isUndefined(plain!.keptTokens)
    })
  )

  it.live("makes an answer malformed if it lacks a sampled token", () =>
    Effect.gen(function* () {
      for (const broken of [[[104, 7]], [[7], [105]]]) {
        const backend = yield* backendOf((yield* serve(broken)).url, settings)
        const error = yield* Effect.flip(quiet(backend.tokens({ inputIds: [1], ...narrow })))
        assert.deepStrictEqual([error.reason, /sampling_mask lacks/.test(error.message)], ["malformed", true])
      }
    })
  )

  it.live("reaches the packed group, at the places of the tokens", () =>
    Effect.gen(function* () {
      const server = yield* serve(mask)
      const layer = ServerManager.layer({ servers: [{ baseUrl: `${server.url}/v1`, ...settings }] })
      const manager = yield* Effect.provide(
        ServerManager.ServerManager,
        yield* Layer.build(layer.pipe(Layer.provideMerge(Tokenizer.layerBytes)))
      )
      const [trajectory] = yield* quiet(manager.chat({ messages: [Message.user("a")], ...narrow }))
      const { keptTokens = [], tokens: all } = trajectory!
      assert.strictEqual(keptTokens.length, all.length)
      assert.deepStrictEqual(
        keptTokens.slice(-2),
        mask.map((ids) => Int32Array.from(ids))
      )
      assert.isTrue(keptTokens.slice(0, -2).every(({ length }) => length === 0))
      const codec = SavedTrajectory.SavedTrajectory
      const saved = Schema.decodeUnknownSync(codec)(JSON.parse(JSON.stringify(Schema.encodeSync(codec)(trajectory!))))
      assert.deepStrictEqual(saved.keptTokens, keptTokens)
      const group = toScoredGroup({ trajectories: [trajectory!], scores: [1] }, [{ score: 1 }])
      const packed = PackedGroup.encode(group)
      assert.deepStrictEqual(Result.getOrThrow(PackedGroup.decode(packed)).keptTokens, [keptTokens])
      const wrong = keptTokens.map((ids) => (ids.length === 1 ? Int32Array.of(9) : ids))
      const refused = PackedGroup.decode(PackedGroup.encode({ ...group, keptTokens: [wrong] }))
      assert(Result.isFailure(refused))
      assert.match(refused.failure.field, /^keptTokens\.0\.\d+$/)
    })
  )
})
