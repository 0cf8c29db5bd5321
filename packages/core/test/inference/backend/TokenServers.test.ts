import { assert, describe, it } from "@effect/vitest"
import { Sampling, ServerSettings, Tokenizer } from "@atropos/core"
import { Effect } from "effect"
import type { Backend } from "../../../src/inference/backend/Backend.ts"
import * as Identify from "../../../src/inference/backend/Identify.ts"
import * as Identity from "../../../src/inference/backend/Identity.ts"
import * as Patched from "../../../src/inference/backend/Patched.ts"
import * as Sglang from "../../../src/inference/backend/Sglang.ts"
import * as Transport from "../../../src/inference/wire/Transport.ts"
import * as Trl from "../../../src/inference/backend/Trl.ts"
import * as Reasoning from "../../../src/inference/backend/Reasoning.ts"
import * as TestServer from "../TestServer.ts"

const optionsFor = (baseUrl: string, apiKey = "", kind: Identity.Kind = "policy") =>
  Effect.map(Transport.make, (transport) => ({
    identity: Identity.base(kind, "default"),
    settings: ServerSettings.server.complete({ baseUrl, apiKey }),
    reasoning: Reasoning.off,
    transport
  }))

const plain = Sampling.ofRequest({}, "raw")

describe("back end of the original's vLLM server and of ours", () => {
  const generated = {
    text: ["ab", "c"],
    prompt: "p",
    finish_reasons: ["stop", "length"],
    logprobs: [[[{ "97": -0.1 }], [{ "98": -0.2 }]], [[{ "99": -0.3 }]]],
    token_ids: [[97, 98], [99]],
    prompt_token_ids: [1, 2]
  }

  it.live("asks /generate beside /v1 for ids, and reads ids and logprobs", () =>
    Effect.gen(function* () {
      const server = yield* TestServer.make(() => ({ json: generated, headers: { "x-policy-version": "5" } }))
      const backend = yield* Effect.flatMap(optionsFor(`${server.url}/v1`, "k"), Patched.make)
      const choices = yield* backend.tokens({
        inputIds: [1, 2],
        n: 2,
        maxTokens: 16,
        temperature: 1,
        extra: { min_p: 0.1 }
      })
      const narrow = Sampling.ofRequest({ minP: 0.1 }, "raw")
      assert.deepStrictEqual(choices, [
        { tokens: [97, 98], logprobs: [-0.1, -0.2], finishReason: "stop", policyVersion: 5, sampling: narrow },
        { tokens: [99], logprobs: [-0.3], finishReason: "length", policyVersion: 5, sampling: narrow }
      ])
      const [asked] = server.asked
      assert.deepStrictEqual([asked!.method, asked!.path], ["POST", "/generate"])
      assert.strictEqual(asked!.headers.authorization, "Bearer k")
      assert.deepStrictEqual(asked!.body, {
        prompt: { prompt_token_ids: [1, 2] },
        logprobs: 0,
        n: 2,
        max_tokens: 16,
        temperature: 1,
        top_p: 1,
        top_k: -1,
        repetition_penalty: 1,
        presence_penalty: 0,
        frequency_penalty: 0,
        min_p: 0.1
      })
    })
  )

  it.live(
    "takes the sampled token from token_ids where the map holds others too, and the first key where there are none",
    () =>
      Effect.gen(function* () {
        const rich = {
          "3": { logprob: -2, rank: 2, decoded_token: "x" },
          "97": { logprob: -0.1, rank: 1, decoded_token: "a" }
        }
        const server = yield* TestServer.make((_, count) => ({
          json:
            count === 1
              ? { finish_reasons: ["stop"], logprobs: [[rich]], token_ids: [[97]] }
              : { finish_reasons: ["stop"], logprobs: [[[{ "12": -0.7 }]]] }
        }))
        const backend = yield* Effect.flatMap(optionsFor(server.url), Patched.make)
        assert.deepStrictEqual(yield* backend.tokens({ inputIds: [1] }), [
          { tokens: [97], logprobs: [-0.1], finishReason: "stop", sampling: plain }
        ])
        assert.deepStrictEqual(yield* backend.tokens({ inputIds: [1] }), [
          { tokens: [12], logprobs: [-0.7], finishReason: "stop", sampling: plain }
        ])
      })
  )

  const lies: ReadonlyArray<readonly [what: string, json: unknown, complaint: string]> = [
    ["no logprobs", { text: ["a"], finish_reasons: ["stop"] }, "logprobs"],
    ["a null logprob", { finish_reasons: ["stop"], logprobs: [[[{ "1": null }]]] }, "logprobs"],
    ["a token that is no number", { finish_reasons: ["stop"], logprobs: [[[{ "<eos>": -1 }]]] }, "logprobs"],
    ["an empty position", { finish_reasons: ["stop"], logprobs: [[[]]] }, "output position 0"],
    [
      "other ids than logprobs",
      { finish_reasons: ["stop"], logprobs: [[{ "1": -1 }]], token_ids: [[2]] },
      "output position 0"
    ],
    [
      "fewer ids than logprobs",
      { finish_reasons: ["stop"], logprobs: [[{ "1": -1 }]], token_ids: [[]] },
      "0 token ids but 1"
    ],
    ["no finish reason", { finish_reasons: [], logprobs: [[{ "1": -1 }]] }, "0 finish reasons"],
    ["three sequences for two", { finish_reasons: ["a", "b", "c"], logprobs: [[], [], []] }, "2 choices requested, 3"]
  ]
  for (const [what, json, complaint] of lies) {
    it.live(`finds out a server that answers with ${what}`, () =>
      Effect.gen(function* () {
        const server = yield* TestServer.make(() => ({ json }))
        const backend = yield* Effect.flatMap(optionsFor(server.url), Patched.make)
        const error = yield* Effect.flip(backend.tokens({ inputIds: [1], n: 2 }))
        assert.strictEqual(error.reason, "malformed")
        assert.include(error.message, complaint)
      })
    )
  }

  it.live("reads prompt logprobs in every shape they come in", () =>
    Effect.gen(function* () {
      const flat = [null, { "5": -0.1, "6": -2 }, [{ "7": -0.3 }, { "8": -3 }]]
      const rich = [
        null,
        { "5": { logprob: -0.1 }, "6": { logprob: -2 } },
        { "7": { logprob: -0.3 }, "8": { logprob: -3 } }
      ]
      const shapes = [flat, [flat], rich, [rich]]
      const server = yield* TestServer.make((_, count) => ({ json: { prompt_logprobs: shapes[count - 1] } }))
      const backend = yield* Effect.flatMap(optionsFor(server.url), Patched.make)
      for (const _ of shapes) {
        assert.deepStrictEqual(yield* backend.promptLogprobs({ inputIds: [4, 5, 7], topK: 2 }), {
          promptTokens: [4, 5, 7],
          topTokenIds: [[], [5, 6], [7, 8]],
          topLogprobs: [[], [-0.1, -2], [-0.3, -3]]
        })
      }
      assert.deepStrictEqual(server.asked[0]!.body, {
        prompt: { prompt_token_ids: [4, 5, 7] },
        prompt_logprobs: 2,
        n: 1,
        temperature: 0,
        top_p: 1,
        top_k: -1,
        min_p: 0,
        repetition_penalty: 1,
        presence_penalty: 0,
        frequency_penalty: 0,
        max_tokens: 1
      })
    })
  )

  it.live("tells a prompt of one token from a sequence of one", () =>
    Effect.gen(function* () {
      const shapes = [[null], [[null]], [{ "5": -1 }], [[{ "5": -1 }]]]
      const server = yield* TestServer.make((_, count) => ({ json: { prompt_logprobs: shapes[count - 1] } }))
      const backend = yield* Effect.flatMap(optionsFor(server.url), Patched.make)
      const read = Effect.map(backend.promptLogprobs({ inputIds: [4], topK: 1 }), ({ topTokenIds }) => topTokenIds)
      assert.deepStrictEqual(yield* read, [[]])
      assert.deepStrictEqual(yield* read, [[]])
      assert.deepStrictEqual(yield* read, [[5]])
      assert.deepStrictEqual(yield* read, [[5]])
    })
  )

  it.live("refuses prompt logprobs of another length than the prompt", () =>
    Effect.gen(function* () {
      const server = yield* TestServer.make(() => ({ json: { prompt_logprobs: [null, { "5": -1 }] } }))
      const backend = yield* Effect.flatMap(optionsFor(server.url), Patched.make)
      const error = yield* Effect.flip(backend.promptLogprobs({ inputIds: [4, 5, 6], topK: 1 }))
      assert.include(error.message, "3 prompt tokens but 2 positions")
    })
  )

  it.live("asks /health for its health, and only the end of the address is a version", () =>
    Effect.gen(function* () {
      const server = yield* TestServer.make((_, count) => ({ text: "", status: count === 1 ? 200 : 500 }))
      const backend = yield* Effect.flatMap(optionsFor(`${server.url}/v1`), Patched.make)
      yield* backend.health
      assert.strictEqual(server.asked[0]!.path, "/health")
      // Its engine is dead.
      assert.strictEqual((yield* Effect.flip(backend.health)).status, 500)
      assert.strictEqual(Identify.rootOf("http://host/v1beta/v1"), "http://host/v1beta")
    })
  )
})

const sglangSequence = (id: number) => ({
  text: "x",
  meta_info: {
    finish_reason: { type: "stop", matched: 2 },
    output_token_logprobs: [
      [-0.5, id, "x"],
      [-0.25, 2, null]
    ]
  }
})
const sglangChoice = (id: number, topP = 1) => ({
  tokens: [id, 2],
  logprobs: [-0.5, -0.25],
  finishReason: "stop",
  sampling: Sampling.ofRequest({ topP }, "tempered")
})

/** Every parameter of the distribution, off. */
const neutral = {
  temperature: 1,
  top_p: 1,
  top_k: -1,
  min_p: 0,
  repetition_penalty: 1,
  presence_penalty: 0,
  frequency_penalty: 0
}

describe("SGLang back end", () => {
  it.live("asks /generate in its own dialect, and reads one answer or a list", () =>
    Effect.gen(function* () {
      const server = yield* TestServer.make((_, count) => ({
        json: count === 1 ? sglangSequence(7) : [sglangSequence(7), sglangSequence(8)]
      }))
      const backend: Backend = yield* Effect.flatMap(optionsFor(`${server.url}/v1`, "", "sglang"), Sglang.make)
      assert.deepStrictEqual(yield* backend.tokens({ inputIds: [1], maxTokens: 4 }), [sglangChoice(7)])
      assert.deepStrictEqual(yield* backend.tokens({ inputIds: [1], n: 2, topP: 0.9 }), [
        sglangChoice(7, 0.9),
        sglangChoice(8, 0.9)
      ])
      assert.deepStrictEqual(server.asked[0]!.body, {
        input_ids: [1],
        sampling_params: { ...neutral, max_new_tokens: 4 },
        return_logprob: true,
        return_text_in_logprobs: false
      })
      assert.deepStrictEqual(server.asked[1]!.body["sampling_params"], { ...neutral, n: 2, top_p: 0.9 })
      assert.strictEqual((yield* Effect.flip(backend.promptLogprobs({ inputIds: [1], topK: 1 }))).reason, "unsupported")
    })
  )
})

describe("TRL back end", () => {
  it.live("puts chats through the template and makes text of ids", () =>
    Effect.gen(function* () {
      const { bytes } = Tokenizer
      const ended = [...bytes.encode("four", { addSpecialTokens: false }), bytes.eosTokenId!]
      const server = yield* TestServer.make(() => ({ json: { completion_ids: [ended, [102, 105]] } }))
      const backend = Trl.make(yield* optionsFor(server.url), bytes)
      const { choices, usage } = yield* backend.chat({
        messages: [{ role: "user", content: "2 + 2" }],
        n: 2,
        maxTokens: 5
      })
      assert.deepStrictEqual(
        choices.map(({ finishReason, message, text }) => [text, message, finishReason]),
        [
          ["four", { role: "assistant", content: "four" }, "stop"],
          ["fi", { role: "assistant", content: "fi" }, "length"]
        ]
      )
      assert.deepStrictEqual(usage, { promptTokens: 0, completionTokens: 7 })
      assert.deepStrictEqual(server.asked[0]!.path, "/generate/")
      assert.deepStrictEqual(server.asked[0]!.body, {
        prompts: [bytes.applyChatTemplate([{ role: "user", content: "2 + 2" }], { addGenerationPrompt: true })],
        n: 2,
        repetition_penalty: 1,
        temperature: 1,
        top_p: 1,
        top_k: -1,
        min_p: 0,
        max_tokens: 5
      })
      const text = yield* backend.complete({ prompt: "2 + 2 =", n: 2 })
      assert.strictEqual(text.choices[0]!.text, "four")
      assert.deepStrictEqual(server.asked[1]!.body["prompts"], ["2 + 2 ="])
    })
  )

  it.live("keeps ids and logprobs where the server gives both, and says that it needs a tokenizer", () =>
    Effect.gen(function* () {
      const server = yield* TestServer.make(() => ({
        json: { prompt_ids: [[1, 2]], completion_ids: [[97]], logprobs: [[-0.5]] }
      }))
      const options = yield* optionsFor(server.url)
      const answer = yield* Trl.make(options, Tokenizer.bytes).complete({ prompt: "x" })
      assert.deepStrictEqual(answer.promptTokens, [1, 2])
      assert.deepStrictEqual(answer.choices[0]!.sampled, {
        tokens: [97],
        logprobs: [-0.5],
        finishReason: "length",
        sampling: plain
      })
      const error = yield* Effect.flip(Trl.make(options, undefined).complete({ prompt: "x" }))
      assert.include(error.message, "provide a Tokenizer")
    })
  )
})
