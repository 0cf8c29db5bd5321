import { assert, describe, it } from "@effect/vitest"
import { Sampling, ServerSettings } from "@atropos/core"
import { Effect, Result } from "effect"
import * as ExactJson from "../../../src/base/json/ExactJson.ts"
import * as Identity from "../../../src/inference/backend/Identity.ts"
import * as OpenAi from "../../../src/inference/backend/OpenAi.ts"
import * as Transport from "../../../src/inference/wire/Transport.ts"
import * as Reasoning from "../../../src/inference/backend/Reasoning.ts"
import * as TestServer from "../TestServer.ts"

const backendOf = (settings: Partial<ServerSettings.Server>, reasoning: Reasoning.Reasoning = Reasoning.off) =>
  Effect.flatMap(Transport.make, (transport) =>
    OpenAi.make({
      identity: Identity.base("openai", settings.modelName ?? "default"),
      settings: ServerSettings.server.complete(settings),
      reasoning,
      transport
    })
  )
const hello = { messages: [{ role: "user", content: "hello", custom: 1 }] }

describe("OpenAI back end", () => {
  it.live("sends messages as they are, the options that are given, the key, and extra keys", () =>
    Effect.gen(function* () {
      const server = yield* TestServer.make(() => TestServer.chatReply(["hi", "ho"]))
      const backend = yield* backendOf({ baseUrl: `${server.url}/v1`, apiKey: "sk-1", modelName: "tiny" })
      yield* backend.chat({
        ...hello,
        n: 2,
        maxTokens: 9,
        temperature: 0.5,
        topP: 0.9,
        stop: ["END"],
        seed: 3,
        tools: [{ type: "function" }],
        toolChoice: "auto",
        split: "eval",
        extra: { min_p: 0.1 }
      })
      const [asked] = server.asked
      assert.strictEqual(asked!.path, "/v1/chat/completions")
      assert.strictEqual(asked!.headers.authorization, "Bearer sk-1")
      assert.deepStrictEqual(asked!.body, {
        model: "tiny",
        messages: hello.messages,
        tools: [{ type: "function" }],
        tool_choice: "auto",
        n: 2,
        max_tokens: 9,
        temperature: 0.5,
        top_p: 0.9,
        stop: ["END"],
        seed: 3,
        min_p: 0.1
      })
    })
  )

  it.live("sends tools with their keys and numbers as they were written", () =>
    Effect.gen(function* () {
      const server = yield* TestServer.make(() => TestServer.chatReply(["hi"]))
      const backend = yield* backendOf({ baseUrl: server.url })
      const tools = '[{"properties":{"b":{"const":9007199254740993},"10":{},"2":1.0}}]'
      const { tools: read } = ExactJson.parseRequest(`{"tools":${tools}}`) as { tools: ReadonlyArray<unknown> }
      yield* backend.chat({ ...hello, tools: read })
      assert.include(server.asked[0]?.text, `"tools":${tools}`)
    })
  )

  it.live("sends no key where there is none, whatever the environment says", () =>
    Effect.gen(function* () {
      const server = yield* TestServer.make(() => TestServer.chatReply(["hi"]))
      yield* (yield* backendOf({ baseUrl: server.url })).chat(hello)
      assert.isUndefined(server.asked[0]!.headers.authorization)
      assert.isFalse("n" in server.asked[0]!.body)
    })
  )

  it.live("reads text, tool calls, reasoning, the stop string and usage, in the order of the indices", () =>
    Effect.gen(function* () {
      const call = { id: "c1", type: "function", function: { name: "search", arguments: "{}" } }
      const server = yield* TestServer.make(() => ({
        json: {
          choices: [
            {
              index: 1,
              finish_reason: "tool_calls",
              stop_reason: 151_645,
              message: { role: "assistant", content: null, tool_calls: [call] }
            },
            {
              index: 0,
              finish_reason: "stop",
              stop_reason: "END",
              message: { content: "four", reasoning: "2 + 2", refusal: null }
            }
          ],
          usage: { prompt_tokens: 3, completion_tokens: 5 }
        }
      }))
      const { choices, usage } = yield* (yield* backendOf({ baseUrl: server.url })).chat({ ...hello, n: 2 })
      assert.deepStrictEqual(choices[0], {
        message: { role: "assistant", content: "four", reasoning: "2 + 2", refusal: null, reasoning_content: "2 + 2" },
        text: "four",
        toolCalls: [],
        finishReason: "stop",
        stop: "END",
        sampling: Sampling.ofRequest({}, "raw")
      })
      assert.notProperty(choices[1], "stop")
      assert.deepStrictEqual([choices[1]!.text, choices[1]!.toolCalls], ["", [call]])
      assert.deepStrictEqual(usage, { promptTokens: 3, completionTokens: 5 })
    })
  )

  it.live("keeps exact tokens, their logprobs and the policy version where the server adds them", () =>
    Effect.gen(function* () {
      const logprobs = {
        content: [
          { token: "a", logprob: -0.5 },
          { token: "b", logprob: 0 }
        ]
      }
      const message = { role: "assistant", content: "ab" }
      const server = yield* TestServer.make(({ path }) =>
        path === "/completions"
          ? {
              headers: { "x-policy-version": "41" },
              json: {
                choices: [
                  {
                    index: 0,
                    finish_reason: "length",
                    text: "ab",
                    prompt_token_ids: [1],
                    logprobs: { tokens: ["token_id:7", "token_id:8"], token_logprobs: [-1, -2] }
                  }
                ]
              }
            }
          : {
              json: {
                policy_version: 42,
                prompt_token_ids: [1, 2],
                choices: [{ index: 0, finish_reason: "stop", message, token_ids: [7, 8], logprobs }]
              }
            }
      )
      const backend = yield* backendOf({ baseUrl: server.url })
      const chat = yield* backend.chat(hello)
      assert.deepStrictEqual(chat.promptTokens, [1, 2])
      assert.deepStrictEqual(chat.choices[0]!.sampled, {
        tokens: [7, 8],
        logprobs: [-0.5, 0],
        finishReason: "stop",
        policyVersion: 42,
        sampling: Sampling.ofRequest({}, "raw")
      })
      const text = yield* backend.complete({ prompt: "x" })
      assert.deepStrictEqual(text.promptTokens, [1])
      assert.deepStrictEqual(text.choices[0]!.sampled, {
        tokens: [7, 8],
        logprobs: [-1, -2],
        finishReason: "length",
        policyVersion: 41,
        sampling: Sampling.ofRequest({}, "raw")
      })
    })
  )

  it.live("reads a call in the old form, calls with an empty id and an empty finish reason", () =>
    Effect.gen(function* () {
      const called = { name: "look", arguments: "{}" }
      const server = yield* TestServer.make(() => ({
        json: {
          choices: [
            { index: 0, finish_reason: "", message: { content: null, function_call: called } },
            {
              index: 1,
              finish_reason: "tool_calls",
              message: { content: "", tool_calls: [{ id: "", function: called }] }
            }
          ]
        }
      }))
      const { choices } = yield* (yield* backendOf({ baseUrl: server.url })).chat({ ...hello, n: 2 })
      assert.deepStrictEqual(
        choices.map(({ finishReason, toolCalls }) => [finishReason, toolCalls]),
        [
          ["unknown", [{ type: "function", function: called }]],
          ["tool_calls", [{ function: called }]]
        ]
      )
    })
  )

  const lies: ReadonlyArray<readonly [what: string, reply: TestServer.Reply, complaint: string]> = [
    ["no JSON", { text: "<html>" }, "not JSON"],
    ["no choices", { json: { error: "busy" } }, "choices"],
    ["a choice without a message", { json: { choices: [{ index: 0 }] } }, "message"],
    ["text that is a number", { json: { choices: [{ message: { content: 7 } }] } }, "content"],
    ["too many choices", TestServer.chatReply(["1", "2", "3"]), "2 choices requested, 3 returned"],
    ["no choice", TestServer.chatReply([]), "2 choices requested, 0 returned"],
    [
      "logprobs of other tokens",
      {
        json: {
          choices: [
            { message: { content: "a" }, token_ids: [1, 2], logprobs: { content: [{ token: "a", logprob: -1 }] } }
          ]
        }
      },
      "2 token ids but 1 logprobs"
    ],
    [
      "NaN",
      { text: '{"choices":[{"message":{"content":"a"},"logprobs":{"content":[{"token":"a","logprob":NaN}]}}]}' },
      "not JSON"
    ]
  ]
  for (const [what, reply, complaint] of lies) {
    it.live(`finds out a server that answers with ${what}`, () =>
      Effect.gen(function* () {
        const server = yield* TestServer.make(() => reply)
        const error = yield* Effect.flip((yield* backendOf({ baseUrl: server.url })).chat({ ...hello, n: 2 }))
        assert.deepStrictEqual([error.reason, error.server], ["malformed", server.url])
        assert.include(error.message, complaint)
      })
    )
  }

  const statuses = [
    [400, "rejected"],
    [401, "rejected"],
    [408, "timeout"],
    [422, "rejected"],
    [429, "overloaded"],
    [500, "failed"],
    [502, "failed"],
    [503, "overloaded"]
  ] as const
  it.live("knows what a status means", () =>
    Effect.gen(function* () {
      const server = yield* TestServer.make((_, count) => ({
        status: statuses[count - 1]![0],
        json: { error: { message: "because" } },
        headers: { "retry-after": "2" }
      }))
      const backend = yield* backendOf({ baseUrl: server.url })
      for (const [status, reason] of statuses) {
        const error = yield* Effect.flip(backend.chat(hello))
        assert.deepStrictEqual([error.status, error.reason, error.retryAfterMillis], [status, reason, 2000])
        assert.include(error.message, "because")
      }
      assert.strictEqual(server.asked.length, statuses.length)
    })
  )

  it.live(
    "is healthy where somebody answers, be it with a refusal or a list that fails; a gateway's word is not an answer",
    () =>
      Effect.gen(function* () {
        const statuses = [401, 404, 500, 501, 502, 503, 504]
        const server = yield* TestServer.make((_, count) => ({ status: statuses[count - 1]!, text: "" }), {
          isProbed: true
        })
        const backend = yield* backendOf({ baseUrl: server.url })
        for (const status of statuses) {
          const answer = yield* Effect.result(backend.health)
          assert.strictEqual(Result.isFailure(answer), status > 501, String(status))
        }
        assert.deepStrictEqual([...new Set(server.asked.map(({ path }) => path))], ["/models"])
      })
  )
})

const asked = (settings: Partial<Parameters<typeof Reasoning.fromSettings>[0]>) =>
  Reasoning.fromSettings({ thinkingMode: false, reasoningEffort: null, maxReasoningTokens: null, ...settings })
const readFrom = (message: object) => Reasoning.read({ role: "assistant", content: "4", ...message })

describe("reasoning", () => {
  const body = { model: "m", temperature: 0.3, max_tokens: 100 }
  const official = "https://api.openai.com/v1"
  const elsewhere = "https://example.org/v1"

  it("is off unless an effort, a limit or thinking mode turns it on", () => {
    assert.deepStrictEqual(asked({}), { enabled: false })
    assert.deepStrictEqual(asked({ thinkingMode: true }), { enabled: true })
    assert.deepStrictEqual(asked({ reasoningEffort: "low" }), { enabled: true, effort: "low" })
    assert.deepStrictEqual(asked({ maxReasoningTokens: 200_000 }), { enabled: true, maxTokens: 200_000 })
    assert.strictEqual(Reasoning.inject(body, Reasoning.off, elsewhere), body)
  })

  it("has OpenAI's own shape for OpenAI's own service", () => {
    assert.deepStrictEqual(Reasoning.inject(body, { enabled: true }, official), {
      model: "m",
      temperature: 1,
      max_completion_tokens: 100,
      reasoning_effort: "medium"
    })
    // A host is OpenAI's by its name, not by a mention of it.
    assert.property(Reasoning.inject(body, { enabled: true }, "http://localhost/api.openai.com/v1"), "reasoning")
  })

  it("is an effort or a limit elsewhere, the effort first", () => {
    assert.deepStrictEqual(Reasoning.inject(body, { enabled: true, effort: "high", maxTokens: 5 }, elsewhere), {
      ...body,
      reasoning: { enabled: true, effort: "high" }
    })
    assert.deepStrictEqual(Reasoning.inject(body, { enabled: true, maxTokens: 5 }, elsewhere)["reasoning"], {
      enabled: true,
      max_tokens: 5
    })
    assert.deepStrictEqual(Reasoning.inject({ reasoning: { enabled: false } }, { enabled: true }, elsewhere), {
      reasoning: { enabled: false }
    })
  })

  it.live("goes with chats that do not skip it", () =>
    Effect.gen(function* () {
      const server = yield* TestServer.make(() => TestServer.chatReply(["hi"]))
      const backend = yield* backendOf({ baseUrl: server.url }, { enabled: true, effort: "low" })
      yield* backend.chat(hello)
      yield* backend.chat({ ...hello, skipReasoning: true })
      assert.deepStrictEqual(
        server.asked.map(({ body }) => body["reasoning"]),
        [{ enabled: true, effort: "low" }, undefined]
      )
    })
  )

  it("is read from wherever a provider puts it", () => {
    assert.strictEqual(readFrom({ reasoning_content: "a", reasoning: "b" }), "a")
    assert.strictEqual(readFrom({ reasoning: "b" }), "b")
    assert.strictEqual(readFrom({ reasoning_details: [{ type: "summary" }, { text: "c" }] }), "c")
    assert.strictEqual(readFrom({ content: "<think>\nd\n</think> 4" }), "d")
    assert.strictEqual(readFrom({ content: "<|start_of_scratchpad|>e<|end_of_scratchpad|>4" }), "e")
    assert.strictEqual(readFrom({}), undefined)
  })
})
