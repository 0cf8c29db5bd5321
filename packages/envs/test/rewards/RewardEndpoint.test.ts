import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import * as Message from "@atropos/core/trajectory/Message"
import { endpoint, endpointFields, type Scored } from "../../src/rewards/index.ts"
import { fromFields } from "@atropos/core/base/Settings"
import * as TestServer from "../../../core/test/inference/TestServer.ts"

const settings = fromFields(endpointFields)
type Settings = Parameters<typeof settings.complete>[0]

const scored = (completion: string): Scored => ({
  prompt: "p:",
  completion,
  messages: [Message.user("p"), Message.assistant(completion)]
})

const rewards = (url: string, texts: ReadonlyArray<string>, more: Settings = {}) =>
  Effect.gen(function* () {
    const { reward } = yield* endpoint(settings.complete({ rewardUrl: `${url}/score`, rewardAttempts: 2, ...more }))
    return yield* Effect.forEach(texts, (text) => reward(scored(text)), { concurrency: "unbounded" })
  }).pipe(Effect.provide(NodeHttpClient.layerUndici))

const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/** The reward of a text is its length. */
const byLength = ({ body }: TestServer.Asked): TestServer.Reply => ({
  json: { rewards: listOf(body["query"]).map((text) => String(text).length) }
})

const numbers = Array.from({ length: 20 }, (_, index) => "x".repeat(index))

describe("RewardEndpoint", () => {
  it.live("gives each text its own reward, in few requests of at most the batch size", () =>
    Effect.gen(function* () {
      const server = yield* TestServer.make(byLength)
      const given = yield* rewards(server.url, numbers, { rewardBatchSize: 8, rewardApiKey: "secret" })
      assert.deepStrictEqual(
        given,
        numbers.map((text) => text.length + 2)
      )
      assert.strictEqual(server.asked.length, 3)
      const [first] = server.asked
      assert.deepStrictEqual(
        [first!.method, first!.path, first!.headers.authorization],
        ["POST", "/score", "Bearer secret"]
      )
      assert.isTrue(server.asked.every(({ body }) => listOf(body["query"]).length <= 8))
      assert.strictEqual(listOf(first!.body["prompts"])[0], "p:")
      assert.deepStrictEqual(listOf(first!.body["messages"])[1], [Message.user("p"), Message.assistant("x")])
    })
  )

  it.live("has no more requests under way than it may", () =>
    Effect.gen(function* () {
      const server = yield* TestServer.make(byLength)
      yield* rewards(server.url, numbers, { rewardBatchSize: 1, rewardRequestsAtOnce: 3 })
      assert.strictEqual(server.asked.length, 20)
      assert.isAtMost(server.max(), 3)
    })
  )

  it.live("tries again what passes, and only that", () =>
    Effect.gen(function* () {
      const busy = yield* TestServer.make((asked, count) =>
        count === 1 ? { status: 503, text: "loading" } : byLength(asked)
      )
      assert.deepStrictEqual(yield* rewards(busy.url, ["a"]), [3])
      const refusing = yield* TestServer.make(() => ({ status: 422, text: "no" }))
      const refused = yield* Effect.flip(rewards(refusing.url, ["a"]))
      assert.match(refused.message, /the reward model at http:.*\/score: responded with 422: no/)
      assert.strictEqual(refusing.asked.length, 1)
      const late = yield* TestServer.make(() => "hang")
      const error = yield* Effect.flip(rewards(late.url, ["a"], { rewardTimeout: 0.05, rewardAttempts: 1 }))
      assert.match(error.message, /no response within 0\.05 seconds/)
      const gone = yield* TestServer.nobody
      assert.match((yield* Effect.flip(rewards(gone, ["a"], { rewardAttempts: 1 }))).message, /ECONNREFUSED/)
    })
  )

  it.live("takes no answer that does not fit", () =>
    Effect.gen(function* () {
      for (const [json, problem] of [
        [{ rewards: [1] }, /1 rewards for 2 texts/],
        [{ rewards: [1, null] }, /rewards/],
        [{ scores: [1, 2] }, /rewards/]
      ] as const) {
        const server = yield* TestServer.make(() => ({ json }))
        assert.match((yield* Effect.flip(rewards(server.url, ["a", "b"]))).message, problem)
      }
    })
  )

  it.live("speaks vLLM's pooling: the last number of each, in the order of the texts", () =>
    Effect.gen(function* () {
      const server = yield* TestServer.make(() => ({
        json: {
          data: [
            { index: 1, object: "pooling", data: [[0.1], [0.7]] },
            { index: 0, object: "pooling", data: [0.2, 0.3] },
            { index: 2, object: "pooling", data: -4 }
          ]
        }
      }))
      const given = yield* rewards(server.url, ["a", "b", "c"], { rewardDialect: "vllm", rewardModel: "rm" })
      assert.deepStrictEqual(given, [0.3, 0.7, -4])
      assert.deepStrictEqual(server.asked[0]!.body, { model: "rm", input: ["p:a", "p:b", "p:c"] })
    })
  )

  it.live("is not read without end, neither by size nor by time", () =>
    Effect.gen(function* () {
      const nested = yield* TestServer.make(() => ({ text: `{"rewards": ${"[".repeat(1000)}` }))
      assert.match((yield* Effect.flip(rewards(nested.url, ["a"]))).message, /nested too deeply/)
      const { url } = yield* Effect.acquireRelease(
        Effect.callback<{ readonly url: string; readonly close: () => void }>((resume) => {
          const server = createServer((_, response) => {
            response.writeHead(200)
            response.write("{")
          })
          server.listen(0, "127.0.0.1", () => {
            const close = () => {
              server.closeAllConnections()
              server.close()
            }
            resume(Effect.succeed({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }))
          })
        }),
        ({ close }) => Effect.sync(close)
      )
      const late = yield* Effect.flip(rewards(url, ["a"], { rewardTimeout: 0.2 }))
      assert.match(late.message, /no response within 0.2 seconds/)
    })
  )

  it.live("without an address says which setting names it", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(rewards("", ["a"], { rewardUrl: "" }))
      assert.strictEqual(error._tag, "NotConfigured")
      assert.include(error.message, "--env.reward_url")
    })
  )
})
