/** The policy server's own endpoints, and what it does when things go wrong, over real HTTP. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Redacted, Logger } from "effect"
import { HttpClient } from "effect/http"
import * as ScriptedEngine from "./ScriptedEngine.ts"
import { serve, until } from "./TestPolicyServer.ts"

interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: any // oxlint-disable-line typescript/no-explicit-any -- whatever a server says
}

const ask = (url: string, path: string, body?: unknown, init: RequestInit = {}): Effect.Effect<Reply> =>
  Effect.promise(async (signal) => {
    const response = await fetch(`${url}${path}`, {
      signal,
      ...(body !== undefined && {
        method: "POST",
        body: typeof body === "string" ? body : JSON.stringify(body),
        headers: { "content-type": "application/json" }
      }),
      ...init
    })
    const text = await response.text()
    const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false
    return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined }
  })

const withToken = (token: string): RequestInit => ({ headers: { authorization: `Bearer ${token}` } })

/** As a page of this origin sends JSON. */
const from = (origin: string) => ({ headers: { "content-type": "application/json", origin } })

/** Asks under a name for the server; `fetch` lets nobody choose one. */
const under = (host: string, url: string, path: string, headers: { readonly [name: string]: string } = {}) =>
  HttpClient.get(`${url}${path}`, { headers: { host, ...headers } }).pipe(
    Effect.flatMap((answer) => Effect.map(answer.text, (text) => ({ status: answer.status, text }))),
    Effect.provide(NodeHttpClient.layerUndici)
  )

/** What a completion says, and with which weights. */
const text = (reply: Reply) => [reply.json.choices[0].text, reply.headers.get("x-policy-version")]

const message = [{ role: "user", content: "hi" }]

const add = { type: "function", function: { name: "add", parameters: { type: "object" } } }
const named = (name: string) => ({ type: "function", function: { name } })

describe("policy server", () => {
  it.live("answers /generate with exact tokens and logprobs, in vLLM's shape", () =>
    Effect.gen(function* () {
      const server = yield* serve((_, index) => (index === 0 ? "ab" : "c"), { bunch: 4 })
      const { headers, json } = yield* ask(server.url, "/generate", {
        prompt: { prompt_token_ids: [104, 105] },
        n: 2,
        logprobs: 2,
        prompt_logprobs: 1,
        max_tokens: 8
      })
      assert.strictEqual(headers.get("x-policy-version"), "0")
      assert.deepStrictEqual(json, {
        text: ["ab", "c"],
        prompt: "hi",
        prompt_token_ids: [104, 105],
        finish_reasons: ["stop", "stop"],
        token_ids: [
          [97, 98, 258],
          [99, 258]
        ],
        logprobs: [
          [
            [{ "97": -0.125 }, { "98": -1.125 }],
            [{ "98": -0.25 }, { "99": -1.25 }],
            [{ "258": -0.375 }, { "0": -1.375 }]
          ],
          [
            [{ "99": -0.125 }, { "100": -1.125 }],
            [{ "258": -0.25 }, { "0": -1.25 }]
          ]
        ],
        prompt_logprobs: [null, [{ "105": -0.25 }]],
        policy_version: 0,
        logprobs_mode: "tempered"
      })
    })
  )

  it.live("gives token ids in and out of chats where asked", () =>
    Effect.gen(function* () {
      const server = yield* serve(() => "é")
      const body = { messages: message, return_token_ids: true, logprobs: true, return_tokens_as_token_ids: true }
      const { json } = yield* ask(server.url, "/v1/chat/completions", body)
      assert.deepStrictEqual(json.prompt_token_ids, server.asked[0]!.promptTokens)
      assert.deepStrictEqual(json.choices[0].token_ids, [0xc3, 0xa9, 258])
      assert.deepStrictEqual(
        json.choices[0].logprobs.content.map(({ token }: { token: string }) => token),
        ["token_id:195", "token_id:169", "token_id:258"]
      )
      const streamed = yield* ask(server.url, "/v1/chat/completions", { ...body, stream: true })
      assert.strictEqual(streamed.headers.get("content-type"), "text/event-stream")
      assert.strictEqual(streamed.headers.get("x-policy-version"), "0")
      const events = streamed.text.trim().split("\n\n")
      assert.strictEqual(events.at(-1), "data: [DONE]")
      const chunks = events.slice(0, -1).map((event) => JSON.parse(event.slice("data: ".length)))
      assert.deepStrictEqual(chunks[0].prompt_token_ids, server.asked[0]!.promptTokens)
      assert.deepStrictEqual(
        chunks.slice(1).map(({ choices }) => [choices[0].delta.content, choices[0].token_ids]),
        [
          ["é", [0xc3, 0xa9]],
          ["", [258]]
        ]
      )
    })
  )

  it.live("tokenizes, detokenizes, says that it lives, and shows its figures", () =>
    Effect.gen(function* () {
      const server = yield* serve(() => "ok")
      const { url } = server
      assert.deepStrictEqual((yield* ask(url, "/tokenize", { prompt: "hé", return_token_strs: false })).json, {
        count: 3,
        max_model_len: 4096,
        tokens: [104, 195, 169],
        token_strs: null
      })
      const chat = (yield* ask(url, "/tokenize", { messages: message })).json
      assert.strictEqual(
        (yield* ask(url, "/detokenize", { tokens: chat.tokens })).json.prompt,
        "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
      )
      assert.strictEqual((yield* ask(url, "/detokenize", { tokens: [259] })).json.error.param, "tokens")
      assert.strictEqual((yield* ask(url, "/health")).status, 200)
      yield* ask(url, "/v1/completions", { prompt: "x" })
      const { text } = yield* ask(url, "/metrics")
      assert.match(text, /^atropos_policy_generated_tokens_total 3$/m)
      assert.match(text, /atropos_policy_request_seconds_count\{[^}]*endpoint="\/v1\/completions"/)
    })
  )

  const wrong: ReadonlyArray<readonly [path: string, body: unknown, status: number, param: string | null]> = [
    ["/v1/chat/completions", { messages: message, logit_bias: { "5": 101 } }, 400, "logit_bias.5"],
    ["/v1/chat/completions", { messages: message, temprature: 1 }, 400, "temprature"],
    ["/v1/chat/completions", { messages: message, presence_penalty: 2.5 }, 400, "presence_penalty"],
    ["/v1/chat/completions", { messages: message, response_format: { type: "xml" } }, 400, "response_format"],
    ["/v1/completions", { prompt: "x", guided_json: { type: "text" } }, 400, "guided_json"],
    ["/v1/completions", { prompt: "x", guided_json: { not: {} } }, 400, "guided_json"],
    ["/v1/completions", { prompt: "x", structured_outputs: { regex: "a" } }, 400, "structured_outputs.regex"],
    ["/v1/chat/completions", { messages: message, tools: [], tool_choice: "required" }, 400, "tool_choice"],
    ["/v1/chat/completions", { messages: message, tools: [add], tool_choice: "any" }, 400, "tool_choice"],
    ["/v1/chat/completions", { messages: message, tools: [add], tool_choice: named("sub") }, 400, "tool_choice"],
    ["/v1/chat/completions", { messages: message, tools: [{}], tool_choice: "required" }, 400, "tools.0.function.name"],
    ["/v1/chat/completions", { messages: message, tools: [add, { type: "custom" }] }, 400, "tools.1.type"],
    ["/v1/chat/completions", { messages: message, temperature: -1 }, 400, "temperature"],
    ["/v1/chat/completions", { messages: message, top_p: 0 }, 400, "top_p"],
    ["/v1/completions", { prompt: "x", repetition_penalty: 0 }, 400, "repetition_penalty"],
    ["/v1/completions", { prompt: "x", frequency_penalty: "high" }, 400, "frequency_penalty"],
    ["/v1/completions", { prompt: "x", min_tokens: 3 }, 400, "min_tokens"],
    ["/v1/chat/completions", { messages: message, stop: ["a", "b", "c", "d", "e"] }, 400, "stop"],
    ["/v1/chat/completions", { messages: message, n: 0 }, 400, "n"],
    ["/v1/chat/completions", { messages: message, max_tokens: "8" }, 400, "max_tokens"],
    ["/v1/chat/completions", { messages: message, top_logprobs: 2 }, 400, "top_logprobs"],
    ["/v1/chat/completions", { messages: message, stream_options: {} }, 400, "stream_options"],
    ["/v1/chat/completions", '{"messages": [{"role": "user", "content": "a"}], "__proto__": 1}', 400, "__proto__"],
    ["/v1/completions", '{"prompt": "a", "hasOwnProperty": "echo"}', 400, "hasOwnProperty"],
    ["/v1/chat/completions", { messages: [] }, 400, "messages"],
    ["/v1/chat/completions", { messages: [{ role: "user", content: 5 }] }, 400, "messages.0.content"],
    [
      "/v1/chat/completions",
      { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "https://x" } }] }] },
      400,
      "messages.0.content"
    ],
    ["/v1/chat/completions", [], 400, null],
    ["/v1/chat/completions", "{", 400, null],
    ["/v1/completions", {}, 400, "prompt"],
    ["/v1/completions", { prompt: [] }, 400, "prompt"],
    ["/v1/completions", { prompt: [1, "a"] }, 400, "prompt"],
    ["/v1/completions", { prompt: [1, 999] }, 400, "prompt"],
    ["/v1/completions", { prompt: "a", max_tokens: 0 }, 400, "max_tokens"],
    ["/v1/completions", { prompt: "a", best_of: 3 }, 400, "best_of"],
    ["/v1/completions", { prompt: "a".repeat(4096), max_tokens: 1 }, 400, "prompt"],
    ["/v1/completions", { prompt: "a", model: "other" }, 404, "model"],
    ["/generate", { prompt: { prompt_token_ids: [1.5] } }, 400, "prompt"],
    ["/generate", { prompt: "a", stream: true }, 400, "stream"],
    ["/v1/nowhere", {}, 404, null],
    ["/v1/load_lora_adapter", { lora_name: "a" }, 400, "lora_path"],
    ["/v1/unload_lora_adapter", { lora_name: "a" }, 404, "lora_name"]
  ]
  it.live("gives what the prompt leaves where more is asked for, and says so once", () => {
    const logged: Array<unknown> = []
    return Effect.gen(function* () {
      const { asked, url } = yield* serve(() => "ok", { maxSequenceTokens: 64 })
      yield* ask(url, "/v1/chat/completions", { messages: message, max_tokens: 2048 })
      yield* ask(url, "/v1/completions", { prompt: "a", max_tokens: 2048 })
      yield* ask(url, "/generate", { prompt: { prompt_token_ids: [1, 2, 3] }, max_tokens: 2048 })
      yield* ask(url, "/v1/completions", { prompt: "a", max_tokens: 5 })
      assert.deepStrictEqual(
        asked.map(({ maxTokens, promptTokens }) => maxTokens + promptTokens.length),
        [64, 64, 64, 5 + asked[3]!.promptTokens.length]
      )
      assert.strictEqual(
        JSON.stringify(logged).split("completions are limited by the max sequence length").length - 1,
        1
      )
    }).pipe(Effect.provide(Logger.layer([Logger.make(({ message }) => void logged.push(message))])))
  })

  it.live("refuses what is wrong by name, in OpenAI's shape, and what is harmless not at all", () =>
    Effect.gen(function* () {
      const server = yield* serve(() => "ok")
      for (const [path, body, status, param] of wrong) {
        const { json, status: got } = yield* ask(server.url, path, body)
        const what = `${path} ${JSON.stringify(body)}`
        assert.deepStrictEqual([what, got, json?.error?.param], [what, status, param])
        assert.strictEqual(json.error.type, "invalid_request_error")
        if (status === 400 && param !== null) assert.include(json.error.message, param)
      }
      const harmless = {
        messages: message,
        user: "u",
        metadata: { a: "b" },
        presence_penalty: 0,
        logit_bias: {},
        response_format: { type: "text" },
        stop: null,
        tools: null
      }
      assert.strictEqual((yield* ask(server.url, "/v1/chat/completions", harmless)).status, 200)
    })
  )

  it.live("takes JSON alone, no larger than it says", () =>
    Effect.gen(function* () {
      const { url } = yield* serve(() => "ok", { maxBodyBytes: 1000 })
      const plain = yield* ask(url, "/v1/completions", "{}", { headers: { "content-type": "text/plain" } })
      assert.strictEqual(plain.status, 415)
      const deep = yield* ask(url, "/v1/completions", "[".repeat(400) + "]".repeat(400))
      assert.deepStrictEqual(
        [deep.status, deep.json.error.message],
        [400, "the body is nested more than 200 levels deep"]
      )
      const large = yield* ask(url, "/v1/completions", { prompt: "x".repeat(2000) })
      assert.deepStrictEqual([large.status, large.json.error.code], [413, "request_too_large"])
      const chunked = new ReadableStream({
        start(controller) {
          for (let i = 0; i < 4; i++) controller.enqueue(new TextEncoder().encode(" ".repeat(400)))
          controller.close()
        }
      })
      // Undici's option for bodies of unknown length, which the DOM's types lack.
      const unknown = yield* ask(url, "/v1/completions", "", { body: chunked, duplex: "half" })
      assert.strictEqual(unknown.status, 413)
      assert.strictEqual((yield* ask(url, "/v1/completions", { prompt: "x" })).status, 200)
    })
  )

  it.live("asks for a token everywhere but at /health where it has one", () =>
    Effect.gen(function* () {
      const { url } = yield* serve(() => "ok", { tokens: [Redacted.make("secret-1"), Redacted.make("secret-2")] })
      assert.strictEqual((yield* ask(url, "/health")).status, 200)
      for (const path of ["/v1/models", "/metrics", "/nowhere"]) {
        assert.strictEqual((yield* ask(url, path)).status, 401, path)
      }
      const refused = yield* ask(url, "/v1/models", undefined, withToken("secret-3"))
      assert.deepStrictEqual([refused.status, refused.json.error.code], [401, "invalid_api_key"])
      assert.strictEqual((yield* ask(url, "/v1/models", undefined, withToken("secret-2"))).status, 200)
    })
  )

  it.live("answers no page of another site, nor under a name that is not its own, without tokens", () =>
    Effect.gen(function* () {
      const { url } = yield* serve(() => "ok")
      for (const path of ["/v1/models", "/metrics", "/health", "/nowhere"]) {
        const rebound = yield* under("evil.example:9004", url, path)
        assert.strictEqual(rebound.status, 403, path)
        assert.include(rebound.text, '"type":"permission_error"')
        assert.include(rebound.text, "ATROPOS_ALLOWED_HOSTS=evil.example")
      }
      const body = { prompt: "x" }
      assert.strictEqual((yield* ask(url, "/v1/completions", body, from("https://evil.example"))).status, 403)
      assert.strictEqual((yield* ask(url, "/v1/load_lora_adapter", {}, from("null"))).status, 403)
      assert.strictEqual((yield* ask(url, "/v1/completions", body, from("http://localhost:3000"))).status, 200)
      const secret = yield* serve(() => "ok", { tokens: [Redacted.make("secret-1")] })
      const named = yield* under("policy.example", secret.url, "/v1/models", { authorization: "Bearer secret-1" })
      assert.strictEqual(named.status, 200)
    })
  )

  it.live("will not serve other machines without a token", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(serve(() => "ok", { host: "0.0.0.0" }))
      assert.include(String(error), "ATROPOS_POLICY_TOKENS")
    })
  )

  it.live("says 429 with Retry-After while there is no room, streamed or not, and answers again afterwards", () =>
    Effect.gen(function* () {
      const server = yield* serve(() => "slow", { maxRows: 1, maxWaiting: 1 })
      yield* server.gate.close
      const body = { prompt: "x" }
      const running = yield* Effect.forkChild(ask(server.url, "/v1/completions", body))
      const waiting = yield* Effect.forkChild(ask(server.url, "/v1/completions", body))
      yield* until(() => server.asked.length === 2)
      for (const stream of [false, true]) {
        const { headers, json, status } = yield* ask(server.url, "/v1/completions", { ...body, stream })
        assert.deepStrictEqual([status, json.error.type], [429, "rate_limit_error"])
        assert.deepStrictEqual([headers.get("retry-after"), headers.get("retry-after-ms")], ["2", "1500"])
      }
      yield* server.gate.open
      assert.strictEqual((yield* Fiber.join(running)).status, 200)
      assert.strictEqual((yield* Fiber.join(waiting)).status, 200)
      assert.strictEqual((yield* ask(server.url, "/v1/completions", body)).status, 200)
    })
  )

  for (const stream of [false, true]) {
    it.live(`frees the rows of a client that goes away (stream: ${stream})`, () =>
      Effect.gen(function* () {
        const server = yield* serve(() => "for ever")
        yield* server.gate.close
        const request = yield* Effect.forkChild(
          ask(server.url, "/v1/chat/completions", { messages: message, n: 3, stream })
        )
        yield* until(() => server.running() === 3)
        yield* Fiber.interrupt(request)
        yield* until(() => server.running() === 0)
        yield* server.gate.open
        assert.strictEqual((yield* ask(server.url, "/v1/completions", { prompt: "x" })).status, 200)
      })
    )
  }

  it.live("hands sampling parameters on, in vLLM's words, at every endpoint", () =>
    Effect.gen(function* () {
      const server = yield* serve(() => "ok")
      const words = {
        temperature: 0.5,
        top_p: 0.9,
        top_k: 7,
        min_p: 0.1,
        repetition_penalty: 1.2,
        presence_penalty: 0.3,
        frequency_penalty: -0.4,
        logit_bias: { "5": 2 },
        stop_token_ids: [9]
      }
      yield* ask(server.url, "/v1/chat/completions", { messages: message, ...words })
      yield* ask(server.url, "/v1/completions", { prompt: "x", ...words })
      yield* ask(server.url, "/generate", { prompt: "x", ...words })
      assert.strictEqual(server.asked.length, 3)
      for (const { frequencyPenalty, logitBias, minP, presencePenalty, repetitionPenalty, ...rest } of server.asked) {
        assert.deepStrictEqual([rest.temperature, rest.topP, rest.topK, minP], [0.5, 0.9, 7, 0.1])
        assert.deepStrictEqual([repetitionPenalty, presencePenalty, frequencyPenalty], [1.2, 0.3, -0.4])
        assert.deepStrictEqual([logitBias, rest.stopTokenIds], [{ "5": 2 }, [258, 9]])
      }
    })
  )

  it.live("a stop string frees the row before the model would have ended", () =>
    Effect.gen(function* () {
      const server = yield* serve(() => `stop here${"x".repeat(1000)}`)
      const { json } = yield* ask(server.url, "/v1/completions", { prompt: "x", stop: "here", max_tokens: 2000 })
      assert.deepStrictEqual([json.choices[0].text, json.usage.completion_tokens], ["stop ", 9])
      assert.strictEqual(server.running(), 0)
      const { generatedTokens } = yield* server.engine.status
      assert.isBelow(generatedTokens, 20)
    })
  )

  it.live("swaps adapters while requests run: they end with the weights they began with", () =>
    Effect.gen(function* () {
      const server = yield* serve((_request, _index, { policyVersion }) => `v${policyVersion}`, {
        readAdapter: (folder) =>
          folder === "/missing"
            ? Effect.fail({ message: "no adapter_config.json" })
            : Effect.succeed(Float32Array.of(Number(folder.slice(1))))
      })
      const { url } = server
      const load = (name: string, folder: string, more: object = {}) =>
        ask(url, "/v1/load_lora_adapter", { lora_name: name, lora_path: folder, ...more })
      const complete = (body: object = {}) => ask(url, "/v1/completions", { prompt: "x", ...body })

      yield* server.gate.close
      const before = yield* Effect.forkChild(complete())
      yield* until(() => server.running() === 1)
      const loaded = yield* load("policy-v3", "/3")
      assert.deepStrictEqual(
        [loaded.status, loaded.text],
        [200, "Success: LoRA adapter 'policy-v3' added successfully."]
      )
      yield* server.gate.open
      assert.deepStrictEqual(text(yield* Fiber.join(before)), ["v0", "0"])
      assert.deepStrictEqual(text(yield* complete()), ["v3", "3"])

      yield* load("other", "/4", { policy_version: 9 })
      assert.deepStrictEqual(text(yield* complete({ model: "test-policy" })), ["v9", "9"])
      assert.deepStrictEqual(text(yield* complete({ model: "policy-v3" })), ["v3", "3"])
      assert.deepStrictEqual(
        server.loaded.map(({ parameters, policyVersion }) => [policyVersion, ...parameters]),
        [
          [3, 3],
          [9, 4]
        ]
      )
      assert.deepStrictEqual([(yield* load("other", "/5")).json.error.code], ["adapter_already_loaded"])
      assert.strictEqual((yield* load("other", "/5", { load_inplace: true })).status, 200)
      const unreadable = yield* load("another", "/missing")
      assert.strictEqual(unreadable.status, 400)
      assert.include(unreadable.json.error.message, "no adapter_config.json")
      server.failLoads(1)
      assert.strictEqual((yield* load("policy-v4", "/4")).status, 500)

      assert.strictEqual((yield* ask(url, "/v1/unload_lora_adapter", { lora_name: "policy-v3" })).status, 200)
      assert.strictEqual((yield* complete({ model: "policy-v3" })).status, 404)
    })
  )

  it.live("goes on after a request that fails in a way nobody expected", () =>
    Effect.gen(function* () {
      const server = yield* serve(({ promptTokens }) => {
        if (promptTokens[0] === 66) throw new Error("a bug")
        return "fine"
      })
      const { json, status } = yield* ask(server.url, "/v1/completions", { prompt: "B" })
      assert.deepStrictEqual([status, json.error.type], [500, "server_error"])
      assert.notInclude(json.error.message, "a bug")
      assert.strictEqual((yield* ask(server.url, "/v1/completions", { prompt: "A" })).json.choices[0].text, "fine")
      assert.strictEqual(server.running(), 0)
    })
  )

  it.live("says the same however the tokens come: one by one, in bunches, streamed or whole", () =>
    Effect.gen(function* () {
      for (const bunch of [1, 3, 100]) {
        const { url } = yield* serve((_, index) => `é${index} one two three STOP four`, { bunch })
        for (const stop of [[], ["STOP"], ["two th", "never"]]) {
          const body = { prompt: "x", n: 3, max_tokens: 100, stop }
          const whole: ReadonlyArray<{ text: string }> = (yield* ask(url, "/v1/completions", body)).json.choices
          const events = (yield* ask(url, "/v1/completions", { ...body, stream: true })).text.trim().split("\n\n")
          const pieces = events.slice(0, -1).map((event) => JSON.parse(event.slice("data: ".length)).choices[0])
          const until = stop.length === 0 ? "four" : stop[0] === "STOP" ? "three " : "one "
          for (const [index, { text }] of whole.entries()) {
            assert.strictEqual(text, `é${index} one two three STOP four`.slice(0, text.length))
            assert.isTrue(text.endsWith(until), text)
            const own = pieces.filter((piece) => piece.index === index)
            assert.strictEqual(own.map((piece) => piece.text).join(""), text)
          }
        }
      }
    })
  )

  it.live("logprobs do not depend on how the text is asked for", () =>
    Effect.gen(function* () {
      const server = yield* serve(() => "abc")
      const { json } = yield* ask(server.url, "/v1/completions", { prompt: "x", logprobs: 0, stop: ["zzz"] })
      assert.deepStrictEqual(json.choices[0].logprobs.token_logprobs, [0, 1, 2, 3].map(ScriptedEngine.logprobAt))
      assert.strictEqual(json.choices[0].logprobs.top_logprobs, null)
    })
  )
})
