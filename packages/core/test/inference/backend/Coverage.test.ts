/** Ids that are fewer than what was sampled: such an answer is not exact. */
import { assert, describe, it } from "@effect/vitest"
import { ServerSettings, Tokenizer } from "@atropos/core"
import { Effect } from "effect"
import type { Backend } from "../../../src/inference/backend/Backend.ts"
import * as Identity from "../../../src/inference/backend/Identity.ts"
import * as OpenAi from "../../../src/inference/backend/OpenAi.ts"
import * as Reasoning from "../../../src/inference/backend/Reasoning.ts"
import * as Sglang from "../../../src/inference/backend/Sglang.ts"
import * as Transport from "../../../src/inference/wire/Transport.ts"
import * as Vllm from "../../../src/inference/backend/Vllm.ts"
import * as TextSequences from "../../../src/inference/sequences/TextSequences.ts"
import * as TestServer from "../TestServer.ts"

const { encode } = Tokenizer.bytes
const chat = { messages: [{ role: "user", content: "hello" }] }

const backendOf = (reply: TestServer.Reply) =>
  Effect.gen(function* () {
    const server = yield* TestServer.make(() => reply)
    return yield* OpenAi.make({
      identity: { ...Identity.base("vllm", "default"), idsBy: "return_token_ids" },
      settings: ServerSettings.server.complete({ baseUrl: server.url }),
      reasoning: Reasoning.off,
      transport: yield* Transport.make,
      tokenizer: Tokenizer.bytes
    })
  })

const choiceOf = (content: string | null, ids: ReadonlyArray<number>, logprobs = ids.length, more: object = {}) => ({
  index: 0,
  finish_reason: "stop",
  message: { role: "assistant", content, ...more },
  token_ids: ids,
  logprobs: { content: Array.from({ length: logprobs }, () => ({ token: "x", logprob: -1 })) }
})
const replyOf = (choice: object, completionTokens?: number) => ({
  prompt_token_ids: [1, 2],
  ...(completionTokens !== undefined && { usage: { prompt_tokens: 2, completion_tokens: completionTokens } }),
  choices: [choice]
})
const call = { id: "a", type: "function", function: { name: "look", arguments: "{}" } }
const end = Tokenizer.bytes.eosTokenId!

const lacking: ReadonlyArray<readonly [what: string, reply: object]> = [
  ["usage has more tokens", replyOf(choiceOf("four", encode("four")), 9)],
  ["usage has one token more", replyOf(choiceOf("four", encode("four")), 5)],
  [
    "usage counts thinking that the ids leave out",
    replyOf(choiceOf("4", encode("4"), 1, { reasoning_content: "hm" }), 3)
  ],
  ["the end of the text has no ids", replyOf(choiceOf("four", encode("fou")))],
  ["the beginning of the text has no ids", replyOf(choiceOf("four", encode("our")))],
  ["the middle of the text has no ids", replyOf(choiceOf("fifteen", encode("fifen")))],
  ["there are more logprobs than ids", replyOf(choiceOf("fou", encode("fou"), 4))],
  ["text has no ids at all", replyOf(choiceOf("four", []))],
  ["a call has no ids", replyOf(choiceOf(null, [], 0, { tool_calls: [call] }))],
  ["thinking has no ids", replyOf(choiceOf(null, [], 0, { reasoning_content: "hm" }))]
]

const covering: ReadonlyArray<readonly [what: string, reply: object]> = [
  ["usage has as many", replyOf(choiceOf("four", [...encode("four"), end]), 5)],
  ["the ids say more than the text", replyOf(choiceOf("4", encode("<think>hm</think>4")), 18)],
  ["the text is trimmed", replyOf(choiceOf("two  words", [...encode("\n two\nwords "), end]))],
  ["a character is not whole", replyOf(choiceOf("a\uFFFD", [97, 0xf0, 0x9f]))],
  ["there is no text but a call", replyOf(choiceOf(null, encode("<tool_call>"), 11, { tool_calls: [call] }))],
  ["nothing was sampled", replyOf(choiceOf("", []), 0)],
  ["there is no usage", replyOf(choiceOf("four", encode("four")))]
]

const chunk = (content: string, ids: ReadonlyArray<number>, finish: string | null = null) => ({
  choices: [
    {
      index: 0,
      delta: { content },
      finish_reason: finish,
      ...(ids.length > 0 && {
        token_ids: ids,
        logprobs: { content: ids.map(() => ({ token: "x", logprob: -1 })) }
      })
    }
  ]
})

describe("an answer with ids", () => {
  for (const [what, json] of lacking) {
    it.live(`is not exact where ${what}`, () =>
      Effect.gen(function* () {
        const { choices } = yield* (yield* backendOf({ json })).chat({ ...chat, exact: true })
        assert.isUndefined(choices[0]!.sampled)
      })
    )
  }

  for (const [what, json] of covering) {
    it.live(`is exact where ${what}`, () =>
      Effect.gen(function* () {
        const { choices } = yield* (yield* backendOf({ json })).chat({ ...chat, exact: true })
        assert.isDefined(choices[0]!.sampled)
      })
    )
  }

  it.live("is not exact where a streamed piece comes without its ids", () =>
    Effect.gen(function* () {
      const chunks = [chunk("fif", encode("fif")), chunk("te", []), chunk("en", encode("en"), "stop")]
      const text = chunks.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("")
      const backend = yield* backendOf({ text, headers: { "content-type": "text/event-stream" } })
      const { choices } = yield* backend.chat({ ...chat, exact: true, onDelta: () => undefined })
      assert.strictEqual(choices[0]!.text, "fifteen")
      assert.isUndefined(choices[0]!.sampled)
    })
  )

  it.live("becomes a sequence of all its text, without logprobs, where they do not cover it", () =>
    Effect.gen(function* () {
      const backend = yield* backendOf({ json: replyOf(choiceOf("four", encode("fo"))) })
      const session = TextSequences.make({ backend, tokenizer: Tokenizer.bytes })
      yield* session.chat(chat)
      const [trajectory] = yield* session.trajectories
      const { logprobs, mask, tokens } = trajectory!
      assert.isUndefined(logprobs)
      assert.include(Tokenizer.bytes.decode(tokens.filter((_, at) => mask[at] === 1)), "four")
    })
  )
})

const tokenServer = (
  make: (options: OpenAi.Options) => Effect.Effect<Backend>,
  kind: "sglang" | "vllm",
  json: object
) =>
  Effect.gen(function* () {
    const server = yield* TestServer.make(() => ({ json }))
    const backend = yield* make({
      identity: { ...Identity.base(kind, "default"), ...(kind === "vllm" && { tokens: "/v1/completions" }) },
      settings: ServerSettings.server.complete({ baseUrl: server.url }),
      reasoning: Reasoning.off,
      transport: yield* Transport.make
    })
    return yield* Effect.flip(backend.tokens({ inputIds: [1] }))
  })

describe("an answer of ids alone", () => {
  it.live("is refused where SGLang counts more tokens", () =>
    Effect.gen(function* () {
      const info = { output_token_logprobs: [[-1, 7, null]], finish_reason: { type: "stop" }, completion_tokens: 2 }
      const error = yield* tokenServer(Sglang.make, "sglang", { meta_info: info })
      assert.include(error.message, "2 tokens but 1 ids")
    })
  )

  it.live("is refused where the completions of vLLM count more tokens", () =>
    Effect.gen(function* () {
      const choice = { index: 0, text: "ab", token_ids: [7], logprobs: { tokens: ["a"], token_logprobs: [-1] } }
      const usage = { prompt_tokens: 1, completion_tokens: 2 }
      const error = yield* tokenServer(Vllm.make, "vllm", { choices: [{ ...choice, finish_reason: "stop" }], usage })
      assert.include(error.message, "usage reports 2 tokens, but the answer has 1 token ids")
    })
  )
})
