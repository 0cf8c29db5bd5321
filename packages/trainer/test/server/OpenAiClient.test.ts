/** The `openai` package of JavaScript against the policy server, unchanged. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import OpenAI, { type APIError, BadRequestError, NotFoundError, RateLimitError } from "openai"
import { Tokenizer } from "@atropos/core"
import type * as Engine from "../../src/engine/Engine.ts"
import * as ScriptedEngine from "./ScriptedEngine.ts"
import * as TestPolicyServer from "./TestPolicyServer.ts"

const clientOf = (url: string, options: object = {}): OpenAI =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0, ...options })

const failure = (ask: Promise<unknown>) =>
  Effect.promise(() =>
    ask.then(
      () => assert.fail("an error was expected"),
      (error: unknown) => error as APIError
    )
  )

const hello = [{ role: "user" as const, content: "hi" }]

const tool = (name: string) => ({
  type: "function" as const,
  function: { name, parameters: { type: "object", properties: { a: { type: "integer" } } } }
})

/** A call of the form that is asked for. */
const said = (request: Engine.GenerateRequest) => {
  const { properties } = JSON.parse(request.schema ?? '{"properties":{}}')
  return JSON.stringify({
    name: "add",
    [properties === undefined ? "arguments" : Object.keys(properties)[1]!]: { a: 1 }
  })
}

describe("openai package", () => {
  it.live("chat completions: text, reason, usage and the policy version", () =>
    Effect.gen(function* () {
      const server = yield* TestPolicyServer.serve((_, index) => `answer ${index}`)
      const client = clientOf(server.url)
      const answer = yield* Effect.promise(() =>
        client.chat.completions.create({ model: "test-policy", messages: hello, n: 2, temperature: 0.5, seed: 7 })
      )
      assert.deepStrictEqual(
        answer.choices.map(({ finish_reason, index, message }) => [
          index,
          message.role,
          message.content,
          finish_reason
        ]),
        [
          [0, "assistant", "answer 0", "stop"],
          [1, "assistant", "answer 1", "stop"]
        ]
      )
      const [asked] = server.asked
      assert.deepStrictEqual(answer.usage, {
        prompt_tokens: asked!.promptTokens.length,
        completion_tokens: 18,
        total_tokens: asked!.promptTokens.length + 18,
        prompt_tokens_details: { cached_tokens: 0 }
      })
      assert.deepStrictEqual([asked!.n, asked!.temperature, asked!.seed, asked!.stopTokenIds], [2, 0.5, 7, [258]])
      assert.strictEqual((answer as { policy_version?: number }).policy_version, 0)
    })
  )

  it.live("streams a chat: the role first, then text, then usage", () =>
    Effect.gen(function* () {
      const server = yield* TestPolicyServer.serve(() => "héllo 😀")
      const client = clientOf(server.url)
      const chunks = yield* Effect.promise(async () => {
        const stream = await client.chat.completions.create({
          model: "test-policy",
          messages: hello,
          stream: true,
          stream_options: { include_usage: true }
        })
        const all: Array<OpenAI.ChatCompletionChunk> = []
        for await (const chunk of stream) all.push(chunk)
        return all
      })
      assert.deepStrictEqual(chunks[0]!.choices[0]!.delta, { role: "assistant", content: "" })
      const pieces = chunks.slice(1, -1).map(({ choices }) => choices[0]!.delta.content ?? "")
      assert.deepStrictEqual(pieces, ["h", "é", "l", "l", "o", " ", "😀", ""])
      assert.strictEqual(chunks.at(-2)!.choices[0]!.finish_reason, "stop")
      assert.deepStrictEqual(chunks.at(-1)!.choices, [])
      assert.strictEqual(chunks.at(-1)!.usage?.completion_tokens, 12)
      assert.isTrue(chunks.slice(0, -1).every(({ usage }) => usage === null))
    })
  )

  it.live("chat logprobs with alternatives, of exactly the sampled tokens", () =>
    Effect.gen(function* () {
      const server = yield* TestPolicyServer.serve(() => "aé")
      const client = clientOf(server.url)
      const answer = yield* Effect.promise(() =>
        client.chat.completions.create({ model: "test-policy", messages: hello, logprobs: true, top_logprobs: 2 })
      )
      const content = answer.choices[0]!.logprobs!.content!
      assert.deepStrictEqual(
        content.map(({ logprob }) => logprob),
        [0, 1, 2, 3].map(ScriptedEngine.logprobAt)
      )
      assert.deepStrictEqual(content[0], {
        token: "a",
        logprob: -0.125,
        bytes: [97],
        top_logprobs: [
          { token: "a", logprob: -0.125, bytes: [97] },
          { token: "b", logprob: -1.125, bytes: [98] }
        ]
      })
      // Half a character is no text by itself.
      assert.deepStrictEqual([content[1]!.token, content[1]!.bytes], ["\u{FFFD}", null])
      assert.strictEqual(content[3]!.token, "<|im_end|>")
    })
  )

  it.live("text completions: several prompts, ids as prompts, logprobs, echo", () =>
    Effect.gen(function* () {
      const server = yield* TestPolicyServer.serve(({ promptTokens }, index) => `${promptTokens.length}.${index}`)
      const client = clientOf(server.url)
      const several = yield* Effect.promise(() =>
        client.completions.create({ model: "test-policy", prompt: ["a", "bcd"], n: 2, max_tokens: 8 })
      )
      assert.deepStrictEqual(
        several.choices.map(({ index, text }) => [index, text]),
        [
          [0, "1.0"],
          [1, "1.1"],
          [2, "3.0"],
          [3, "3.1"]
        ]
      )
      assert.strictEqual(several.usage?.prompt_tokens, 4)
      const ids = yield* Effect.promise(() =>
        client.completions.create({ model: "test-policy", prompt: [[104, 105], [33]], logprobs: 1, echo: true })
      )
      const [first, second] = ids.choices
      assert.deepStrictEqual([first!.text, second!.text], ["hi2.0", "!1.0"])
      // The package's types know no tokens without logprobs, as the first of a prompt is.
      const told: unknown = first!.logprobs
      assert.deepStrictEqual(told, {
        tokens: ["h", "i", "2", ".", "0", "<|im_end|>"],
        token_logprobs: [null, -0.25, -0.125, -0.25, -0.375, -0.5],
        top_logprobs: [null, { i: -0.25 }, { "2": -0.125 }, { ".": -0.25 }, { "0": -0.375 }, { "<|im_end|>": -0.5 }],
        text_offset: [0, 1, 2, 3, 4, 5]
      })
      const silent = yield* Effect.promise(() =>
        client.completions.create({ model: "test-policy", prompt: "hi", max_tokens: 0, echo: true, logprobs: 0 })
      )
      assert.strictEqual(silent.choices[0]!.text, "hi")
      const logprobs: ReadonlyArray<unknown> = silent.choices[0]!.logprobs!.token_logprobs!
      assert.deepStrictEqual(logprobs, [null, -0.25])
    })
  )

  it.live("streams several prompts at once, each choice with its own reason", () =>
    Effect.gen(function* () {
      const server = yield* TestPolicyServer.serve(({ promptTokens }, index) => "x".repeat(promptTokens.length + index))
      const client = clientOf(server.url)
      const chunks = yield* Effect.promise(async () => {
        const stream = await client.completions.create({
          model: "test-policy",
          prompt: ["a", "bcd"],
          n: 2,
          max_tokens: 3,
          stream: true,
          stream_options: { include_usage: true }
        })
        const all: Array<OpenAI.Completion> = []
        for await (const chunk of stream) all.push(chunk)
        return all
      })
      const choices = chunks.flatMap((chunk) => chunk.choices)
      const of = (index: number) => choices.filter((choice) => choice.index === index)
      assert.deepStrictEqual(
        [0, 1, 2, 3].map((index) => [
          of(index)
            .map(({ text }) => text)
            .join(""),
          of(index).at(-1)!.finish_reason
        ]),
        [
          ["x", "stop"],
          ["xx", "stop"],
          ["xxx", "length"],
          ["xxx", "length"]
        ]
      )
      assert.deepStrictEqual(chunks.at(-1)!.usage, {
        prompt_tokens: 4,
        completion_tokens: 11,
        total_tokens: 15,
        prompt_tokens_details: { cached_tokens: 0 }
      })
    })
  )

  it.live("stop strings end a text before them, streamed or not, and the tokens go as far as they were sampled", () =>
    Effect.gen(function* () {
      const server = yield* TestPolicyServer.serve(() => "one END two")
      const client = clientOf(server.url)
      const body = { model: "test-policy", prompt: "p", stop: ["NEVER", "END"], max_tokens: 50, return_token_ids: true }
      const answer = yield* Effect.promise(() => client.completions.create(body))
      const choice = answer.choices[0]! as OpenAI.CompletionChoice & { token_ids?: unknown; stop_reason?: unknown }
      assert.deepStrictEqual([choice.text, choice.finish_reason, choice.stop_reason], ["one ", "stop", "END"])
      assert.deepStrictEqual(choice.token_ids, [...Buffer.from("one END")])
      const text = yield* Effect.promise(async () => {
        let all = ""
        for await (const chunk of await client.completions.create({ ...body, stream: true })) {
          all += chunk.choices[0]?.text ?? ""
        }
        return all
      })
      assert.strictEqual(text, "one ")
    })
  )

  it.live("tool calls come in OpenAI's shape, streamed or not", () =>
    Effect.gen(function* () {
      const server = yield* TestPolicyServer.serve(
        () => 'so: <tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'
      )
      const client = clientOf(server.url)
      const body = {
        model: "test-policy",
        messages: hello,
        tools: [{ type: "function" as const, function: { name: "add", parameters: {} } }]
      }
      const answer = yield* Effect.promise(() => client.chat.completions.create(body))
      const { finish_reason: reason, message } = answer.choices[0]!
      assert.deepStrictEqual([reason, message.content], ["tool_calls", "so: "])
      const [call] = message.tool_calls!
      assert.deepStrictEqual(call?.type === "function" ? call.function : undefined, {
        name: "add",
        arguments: '{"a": 1}'
      })
      const final = yield* Effect.promise(() => client.chat.completions.stream(body).finalChatCompletion())
      const streamed = final.choices[0]!
      assert.strictEqual(streamed.finish_reason, "tool_calls")
      assert.strictEqual(streamed.message.tool_calls?.[0]?.type, "function")
    })
  )

  it.live("a tool that has to be called is, held to its schema", () =>
    Effect.gen(function* () {
      for (const [toolCallFormat, before] of [
        ["hermes", "<tool_call>\n"],
        ["llama3-json", ""]
      ] as const) {
        const server = yield* TestPolicyServer.serve(said, { toolCallFormat })
        const client = clientOf(server.url)
        const body = { model: "test-policy", messages: hello, tools: [tool("add"), tool("sub")] }
        const choice = { ...body, tool_choice: { type: "function" as const, function: { name: "add" } } }
        const answer = yield* Effect.promise(() => client.chat.completions.create(choice))
        const streamed = yield* Effect.promise(() => client.chat.completions.stream(choice).finalChatCompletion())
        for (const { choices } of [answer, streamed]) {
          const { finish_reason: reason, message } = choices[0]!
          assert.deepStrictEqual([reason, message.content || null], ["tool_calls", null])
          const [call] = message.tool_calls!
          assert.deepInclude(call?.type === "function" ? call.function : undefined, {
            name: "add",
            arguments: '{"a": 1}'
          })
        }
        const [asked] = server.asked
        assert.isTrue(Tokenizer.bytes.decode(asked!.promptTokens).endsWith(`assistant\n${before}`))
        assert.deepStrictEqual(JSON.parse(asked!.schema!).properties.name, { const: "add" })
        yield* Effect.promise(() => client.chat.completions.create({ ...body, tool_choice: "required" }))
        assert.deepStrictEqual(
          JSON.parse(server.asked.at(-1)!.schema!).anyOf.map(
            ({ properties }: { readonly properties: { readonly name: object } }) => properties.name
          ),
          [{ const: "add" }, { const: "sub" }]
        )
        // Cut off in its middle it is no call.
        const cut = yield* Effect.promise(() => client.chat.completions.create({ ...choice, max_tokens: 5 }))
        assert.deepStrictEqual(
          [cut.choices[0]!.finish_reason, cut.choices[0]!.message.tool_calls],
          ["length", undefined]
        )
      }
      const server = yield* TestPolicyServer.serve(said, { toolCallFormat: "glm" })
      const body = { model: "test-policy", messages: hello, tools: [tool("add")], tool_choice: "required" as const }
      const refused = yield* failure(clientOf(server.url).chat.completions.create(body))
      assert.instanceOf(refused, BadRequestError)
      assert.strictEqual(refused.param, "tool_choice")
      assert.include(refused.message, "glm")
    })
  )

  it.live("calls and thinking are read in the model's own format", () =>
    Effect.gen(function* () {
      const said = { name: "add", arguments: '{"a": 1}' }
      const tools = [
        {
          type: "function" as const,
          function: { name: "add", parameters: { type: "object", properties: { a: { type: "integer" } } } }
        }
      ]
      const ways = [
        [
          "glm",
          "So.\n<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>",
          "So.\n",
          undefined
        ],
        [
          "harmony",
          "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary<|message|>So.<|end|>" +
            '<|start|>assistant<|channel|>commentary to=functions.add <|constrain|>json<|message|>{"a":1}<|call|>',
          "So.",
          "Hm."
        ]
      ] as const
      for (const [toolCallFormat, text, content, reasoning] of ways) {
        const server = yield* TestPolicyServer.serve(() => text, { toolCallFormat })
        const client = clientOf(server.url)
        const body = { model: "test-policy", messages: hello, tools }
        const answer = yield* Effect.promise(() => client.chat.completions.create(body))
        const streamed = yield* Effect.promise(() => client.chat.completions.stream(body).finalChatCompletion())
        for (const { choices } of [answer, streamed]) {
          const { finish_reason: reason, message } = choices[0]!
          assert.deepStrictEqual([reason, message.content], ["tool_calls", content])
          const [call] = message.tool_calls!
          assert.deepInclude(call?.type === "function" ? call.function : undefined, said)
          assert.strictEqual("reasoning_content" in message ? message.reasoning_content : undefined, reasoning)
        }
        const plain = yield* Effect.promise(() => client.chat.completions.create({ ...body, tools: [] }))
        const { finish_reason: reason, message } = plain.choices[0]!
        assert.deepStrictEqual([reason, message.tool_calls], ["stop", undefined])
        if (toolCallFormat === "glm") assert.strictEqual(message.content, text)
      }
    })
  )

  it.live("models, and errors as the package's own classes", () =>
    Effect.gen(function* () {
      const server = yield* TestPolicyServer.serve(() => "x", { maxRows: 1, maxWaiting: 0, maxSequenceTokens: 64 })
      const client = clientOf(server.url)
      const models = yield* Effect.promise(() => client.models.list())
      assert.deepStrictEqual(
        models.data.map(({ id }) => id),
        ["test-policy", "base"]
      )
      assert.strictEqual((yield* Effect.promise(() => client.models.retrieve("test-policy"))).id, "test-policy")
      const unknown = yield* failure(client.chat.completions.create({ model: "gpt-4", messages: hello }))
      assert.instanceOf(unknown, NotFoundError)
      assert.deepStrictEqual([unknown.code, unknown.param], ["model_not_found", "model"])
      const long = yield* failure(client.completions.create({ model: "test-policy", prompt: "a".repeat(64) }))
      assert.instanceOf(long, BadRequestError)
      assert.deepStrictEqual([long.code, long.param], ["context_length_exceeded", "prompt"])
      const full = yield* failure(client.chat.completions.create({ model: "test-policy", messages: hello, n: 2 }))
      assert.instanceOf(full, RateLimitError)
      assert.deepStrictEqual([full.headers?.get("retry-after"), full.headers?.get("retry-after-ms")], ["2", "1500"])
    })
  )
})
