/** Core's `ServerManager` on the policy: over HTTP with its own back ends unchanged, and in this process. */
import { assert, describe, it } from "@effect/vitest"
import { ServerManager, Tokenizer } from "@atropos/core"
import { Effect, Layer } from "effect"
import * as PolicyBackend from "../../src/server/PolicyBackend.ts"
import * as ScriptedEngine from "./ScriptedEngine.ts"
import { serve } from "./TestPolicyServer.ts"

const { bytes } = Tokenizer
const messages = [{ role: "user", content: "2 + 2?" }]
const served = { modelName: "test-policy", maxSequenceTokens: 4096 }
const script: ScriptedEngine.Script = (_request, index, { policyVersion }) => `four ${index} of v${policyVersion}`

/** The ways to the same policy. */
const ways: ReadonlyArray<
  readonly [
    name: string,
    layer: (url: string, scripted: ScriptedEngine.Scripted) => Layer.Layer<ServerManager.ServerManager, unknown>
  ]
> = [
  [
    "vllm over HTTP",
    (url) =>
      ServerManager.layer({ servers: [{ serverType: "vllm", baseUrl: `${url}/v1` }] }).pipe(
        Layer.provide(Tokenizer.layerBytes)
      )
  ],
  ["in process", (_, scripted) => PolicyBackend.layerServerManager(served).pipe(Layer.provide(scripted.layer))]
]

for (const [name, layer] of ways) {
  describe(`ServerManager, ${name}`, () => {
    it.live("rolls a group out with exact tokens, logprobs and the policy version", () =>
      Effect.gen(function* () {
        const server = yield* serve(script)
        yield* server.engine.load("policy-v7", 7, new Float32Array(1))
        const group = yield* Effect.gen(function* () {
          const servers = yield* ServerManager.ServerManager
          return yield* servers.chat({ messages, n: 3, maxTokens: 64, temperature: 0.7, seed: 5 })
        }).pipe(Effect.provide(layer(server.url, server)))
        const prompt = bytes.encode(bytes.applyChatTemplate(messages, { addGenerationPrompt: true }))
        assert.strictEqual(group.length, 3)
        for (const [index, trajectory] of group.entries()) {
          const sampled = [...bytes.encode(`four ${index} of v7`), 258]
          assert.deepStrictEqual([...trajectory.tokens], [...prompt, ...sampled])
          assert.deepStrictEqual(
            [...trajectory.logprobs!].slice(prompt.length),
            sampled.map((_, position) => ScriptedEngine.logprobAt(position))
          )
          assert.strictEqual(trajectory.policyVersion, 7)
          assert.strictEqual(trajectory.finishReason, "stop")
        }
        const [asked] = server.asked
        assert.deepStrictEqual([asked!.temperature, asked!.seed, asked!.n], [0.7, 5, 3])
      })
    )

    it.live("ends at stop strings, with the tokens up to there", () =>
      Effect.gen(function* () {
        const server = yield* serve(script)
        const [choice] = yield* Effect.gen(function* () {
          const servers = yield* ServerManager.ServerManager
          return yield* servers.tokens({ inputIds: [104, 105], maxTokens: 64, stop: [" of"], extra: { top_k: 3 } })
        }).pipe(Effect.provide(layer(server.url, server)))
        assert.deepStrictEqual(choice!.tokens, [...bytes.encode("four 0 of")])
        assert.strictEqual(choice!.finishReason, "stop")
        assert.strictEqual(server.asked[0]!.topK, 3)
      })
    )

    it.live("gives prompt logprobs, and refuses what it does not know", () =>
      Effect.gen(function* () {
        const server = yield* serve(script)
        yield* Effect.gen(function* () {
          const servers = yield* ServerManager.ServerManager
          assert.deepStrictEqual(yield* servers.promptLogprobs({ inputIds: [10, 20, 30], topK: 2 }), {
            promptTokens: [10, 20, 30],
            topTokenIds: [[], [20, 21], [30, 31]],
            topLogprobs: [[], [-0.25, -1.25], [-0.375, -1.375]]
          })
          const error = yield* Effect.flip(servers.tokens({ inputIds: [1], extra: { typical_p: 0.1 } }))
          assert.strictEqual(error.reason, "rejected")
          assert.include(error.message, "typical_p")
        }).pipe(Effect.provide(layer(server.url, server)))
      })
    )

    it.live("waits out an engine without room", () =>
      Effect.gen(function* () {
        const server = yield* serve(script, { maxRows: 2, maxWaiting: 0, retryAfterMillis: 10 })
        const all = yield* Effect.gen(function* () {
          const servers = yield* ServerManager.ServerManager
          return yield* Effect.forEach([1, 2], () => servers.tokens({ inputIds: [1], n: 2, maxTokens: 4 }), {
            concurrency: "unbounded"
          })
        }).pipe(Effect.provide(layer(server.url, server)))
        assert.strictEqual(all.flat().length, 4)
      })
    )

    it.live("keeps a session's turns in one sequence", () =>
      Effect.gen(function* () {
        const server = yield* serve(script)
        const trajectories = yield* Effect.gen(function* () {
          const servers = yield* ServerManager.ServerManager
          const session = yield* servers.tracked()
          const [first] = yield* session.chat({ messages })
          yield* session.chat({ messages: [...messages, first!.message, { role: "user", content: "and 3 + 3?" }] })
          return yield* session.trajectories
        }).pipe(Effect.scoped, Effect.provide(layer(server.url, server)))
        assert.strictEqual(trajectories.length, 1)
        assert.strictEqual(trajectories[0]!.policyVersion, 0)
      })
    )
  })
}

describe("ServerManager, openai over HTTP", () => {
  it.live("records the policy version of answers without tokens", () =>
    Effect.gen(function* () {
      const server = yield* serve(script)
      yield* server.engine.load("policy-v2", 2, new Float32Array(1))
      const answers = yield* Effect.gen(function* () {
        const servers = yield* ServerManager.ServerManager
        return yield* servers.answer({ messages, n: 2 })
      }).pipe(
        Effect.provide(
          ServerManager.layer({ servers: [{ serverType: "openai", baseUrl: `${server.url}/v1` }] }).pipe(
            Layer.provide(Tokenizer.layerBytes)
          )
        )
      )
      assert.deepStrictEqual(
        answers.map(({ policyVersion, text }) => [text, policyVersion]),
        [
          ["four 0 of v2", 2],
          ["four 1 of v2", 2]
        ]
      )
    })
  )
})

describe("ServerManager, the format of calls", () => {
  it.live("is what the setting says, for answers and for tracked sessions", () =>
    Effect.gen(function* () {
      const text =
        "So.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>add<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
      const server = yield* serve(() => text)
      const [answered, tracked] = yield* Effect.gen(function* () {
        const servers = yield* ServerManager.ServerManager
        const request = { messages, tools: [{ type: "function", function: { name: "add" } }] }
        const session = yield* servers.tracked()
        return [yield* servers.answer(request), yield* session.chat(request)]
      }).pipe(
        Effect.provide(
          PolicyBackend.layerServerManager({ ...served, toolCallFormat: "deepseek" }).pipe(Layer.provide(server.layer))
        )
      )
      for (const choices of [answered, tracked]) {
        assert.deepStrictEqual(
          choices?.map(({ finishReason, message, toolCalls }) => [
            finishReason,
            message.content,
            toolCalls.map((call) => call.function)
          ]),
          [["tool_calls", "So.", [{ name: "add", arguments: "{}" }]]]
        )
      }
    })
  )
})
