import type Anthropic from "@anthropic-ai/sdk"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Failure } from "../../../src/gateway/dialect/Dialect.ts"
import * as Messages from "../../../src/gateway/dialect/messages/Messages.ts"
import type { Message } from "../../../src/trajectory/Message.ts"
import * as Client from "./MessagesClient.ts"

const { decode, noMemory } = Client
const base = { model: "any", max_tokens: 16 }
const hello = { ...base, messages: [{ role: "user", content: "hello" }] }
const messagesOf = (messages: ReadonlyArray<unknown>, more = {}) =>
  decode({ ...base, messages, ...more }).request.messages
const refusal = (body: unknown): Failure => Effect.runSync(Effect.flip(Messages.dialect.decode(body, noMemory)))

const call = (id: string, q: unknown) => ({
  id,
  type: "function",
  function: { name: "search", arguments: JSON.stringify({ q }) }
})
const use = (id: string, q: unknown) => ({ type: "tool_use", id, name: "search", input: { q } })
const result = (id: string, content: unknown) => ({ type: "tool_result", tool_use_id: id, content })

describe("Messages: a request", () => {
  it("is read with its sampling", () => {
    const { body, ignored, isStreamed, request } = decode({
      ...hello,
      system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
      temperature: 0.5,
      top_p: 0.9,
      top_k: 5,
      stop_sequences: ["END"],
      stream: true,
      thinking: { type: "enabled", budget_tokens: 1024 },
      metadata: { user_id: "u" },
      service_tier: "auto",
      tool_choice: { type: "auto" },
      tools: [{ name: "search", description: "Finds.", input_schema: { type: "object" }, cache_control: null }]
    })
    assert.deepStrictEqual(request, {
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "hello" }
      ],
      tools: [
        { type: "function", function: { name: "search", description: "Finds.", parameters: { type: "object" } } }
      ],
      toolChoice: "auto",
      maxTokens: 16,
      temperature: 0.5,
      topP: 0.9,
      topK: 5,
      stop: ["END"]
    })
    assert.isTrue(isStreamed)
    assert.deepStrictEqual(body, { stops: ["END"] })
    assert.sameMembers([...ignored], ["text.cache_control", "thinking", "metadata", "service_tier"])
  })

  it("that asks for nothing, or for less work, is read with what it asks for counted", () => {
    const { ignored, request } = decode({
      ...hello,
      context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
      fallback_model: "another",
      tools: [
        { name: "search", input_schema: { type: "object" }, defer_loading: true },
        { type: "web_search_20250305", name: "web_search" }
      ]
    })
    assert.strictEqual(request.tools?.length, 1)
    assert.sameMembers(
      [...ignored],
      [
        "context_management.clear_thinking_20251015",
        "fallback_model",
        "tools.defer_loading",
        "tools.web_search_20250305"
      ]
    )
  })

  it("with documents of text shows the model their titles and texts", () => {
    const source = { type: "text", media_type: "text/plain", data: "Fish swim." }
    const parts = {
      type: "content",
      content: [
        { type: "text", text: "Birds" },
        { type: "text", text: "fly." }
      ]
    }
    const [message] = messagesOf([
      {
        role: "user",
        content: [
          { type: "document", source, title: "Fish", context: "A book.", citations: { enabled: true } },
          { type: "document", source: parts },
          { type: "text", text: "What swims?" }
        ]
      }
    ])
    assert.strictEqual(
      message?.content,
      "<document>\n<source>Fish</source>\n<context>A book.</context>\n<document_content>\nFish swim.\n</document_content>\n</document>\n" +
        "<document>\n<document_content>\nBirds\nfly.\n</document_content>\n</document>\nWhat swims?"
    )
  })

  it("with several tool results beside a question becomes a tool message for each, then the question", () => {
    assert.deepStrictEqual(
      messagesOf([
        { role: "user", content: "find" },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "hm", signature: "s" },
            { type: "text", text: "Looking." },
            use("a", 1),
            use("b", 2)
          ]
        },
        {
          role: "user",
          content: [result("a", "one"), result("b", [{ type: "text", text: "two" }]), { type: "text", text: "And?" }]
        }
      ]),
      [
        { role: "user", content: "find" },
        {
          role: "assistant",
          content: "Looking.",
          reasoning_content: "hm",
          tool_calls: [call("a", 1), call("b", 2)]
        },
        { role: "tool", content: "one", tool_call_id: "a" },
        { role: "tool", content: "two", tool_call_id: "b" },
        { role: "user", content: "And?" }
      ]
    )
  })

  it("with messages of one speaker in a row has them as one turn", () => {
    assert.deepStrictEqual(
      messagesOf([
        { role: "user", content: "a" },
        { role: "user", content: [{ type: "text", text: "b" }] },
        { role: "assistant", content: "The answer" },
        { role: "assistant", content: [{ type: "text", text: " is" }] }
      ]),
      [
        { role: "user", content: "a\n\nb" },
        { role: "assistant", content: "The answer is" }
      ]
    )
  })

  it("keeps pictures where they stand", () => {
    assert.deepStrictEqual(
      messagesOf([
        {
          role: "user",
          content: [
            { type: "text", text: "What is this?" },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
            { type: "image", source: { type: "url", url: "https://example.org/a.png" } }
          ]
        }
      ])[0]?.content,
      [
        { type: "text", text: "What is this?" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
        { type: "image_url", image_url: { url: "https://example.org/a.png" } }
      ]
    )
  })

  const asked = [{ role: "user", content: "find" }]
  const document = { type: "document", source: { type: "base64", media_type: "application/pdf", data: "x" } }
  const refused: ReadonlyArray<readonly [what: string, body: unknown, param: string, reason: Failure["reason"]]> = [
    ["no object", 5, "body", "invalid"],
    ["no max_tokens", { model: "any", messages: asked }, "max_tokens", "invalid"],
    ["a max_tokens of 0", { ...hello, max_tokens: 0 }, "max_tokens", "invalid"],
    ["a model of another type", { ...hello, model: 5 }, "model", "invalid"],
    ["no messages", { ...base, messages: [] }, "messages", "invalid"],
    ["messages of another type", { ...base, messages: "hello" }, "messages", "invalid"],
    ["an unknown role", { ...base, messages: [{ role: "tool", content: "" }] }, "messages.0.role", "invalid"],
    ["no content", { ...base, messages: [{ role: "user" }] }, "messages.0.content", "invalid"],
    ["a block of no type", { ...base, messages: [{ role: "user", content: [{}] }] }, "messages.0.content.0", "invalid"],
    [
      "a document that is no text",
      { ...base, messages: [{ role: "user", content: [document] }] },
      "messages.0.content.0.source",
      "unsupported"
    ],
    ["an unknown parameter", { ...hello, seed: 1 }, "seed", "unsupported"],
    ["a known parameter with another spelling", { ...hello, topP: 0.5 }, "topP", "unsupported"],
    [
      "a compaction",
      { ...hello, context_management: { edits: [{ type: "compact_20260112" }] } },
      "context_management.edits.0",
      "unsupported"
    ],
    [
      "MCP servers",
      { ...hello, mcp_servers: [{ type: "url", url: "http://a", name: "a" }] },
      "mcp_servers",
      "unsupported"
    ],
    ["a forced tool, and no tools", { ...hello, tool_choice: { type: "any" } }, "tool_choice", "invalid"],
    ["a server's tool", { ...hello, tools: [{ type: "bash_20250124", name: "bash" }] }, "tools.0", "unsupported"],
    ["a tool without a schema", { ...hello, tools: [{ name: "bash" }] }, "tools.0", "invalid"],
    [
      "a stranger's result",
      { ...base, messages: [{ role: "user", content: [result("x", "")] }] },
      "messages.0",
      "invalid"
    ],
    [
      "a call without its result",
      { ...base, messages: [...asked, { role: "assistant", content: [use("a", 1)] }, ...asked] },
      "messages.2",
      "invalid"
    ],
    ["a wrong temperature", { ...hello, temperature: "hot" }, "temperature", "invalid"],
    ["stop sequences of another type", { ...hello, stop_sequences: "END" }, "stop_sequences", "invalid"],
    ["unknown thinking", { ...hello, thinking: { type: "deep" } }, "thinking.type", "invalid"]
  ]
  for (const [what, body, param, reason] of refused) {
    it(`with ${what} is refused by name`, () => {
      const failure = refusal(body)
      assert.deepStrictEqual([failure.param, failure.reason], [param, reason])
      assert.include(failure.message, param)
    })
  }

  it("for a conversation kept on the server is refused in the words at which clients send all of it", () => {
    const { body, status } = Messages.dialect.failure(refusal({ ...hello, thread: { type: "create" } }))
    assert.strictEqual(status, 400)
    assert.nestedPropertyVal(body, "error.details.error_code", "thread_unsupported_request")
  })

  it.prop("is read or refused, whatever it says", [Schema.Unknown, Schema.Unknown, Schema.Unknown], ([a, b, c]) => {
    for (const body of [
      a,
      { ...hello, tools: a, system: b },
      { ...base, messages: [a, { role: "user", content: b }, c] }
    ]) {
      const read = Effect.runSync(Effect.result(Messages.dialect.decode(body, noMemory)))
      if (read._tag === "Failure") assert.strictEqual(Messages.dialect.failure(read.failure).status, 400)
    }
  })

  it("to count tokens needs no max_tokens", () => {
    const { max_tokens: _, ...rest } = hello
    const request = Effect.runSync(Messages.dialect.counting!.decode(rest, noMemory))
    assert.deepStrictEqual(request, { messages: [{ role: "user", content: "hello" }] })
    assert.deepStrictEqual(Messages.dialect.counting!.answer(12), { input_tokens: 12 })
  })
})

describe("Messages: an answer", () => {
  const ended = (message: Message, more: Parameters<typeof Client.choiceOf>[1], stops?: ReadonlyArray<string>) => {
    const turn = decode({ ...hello, ...(stops && { stop_sequences: stops }) })
    return Messages.dialect.answer(turn, Client.answeredBy(Client.choiceOf(message, more)), noMemory)
  }
  const said: Message = { role: "assistant", content: "1, 2" }

  it("says why it ended", () => {
    assert.include(ended(said, {}), { stop_reason: "end_turn", stop_sequence: null })
    assert.include(ended(said, { finishReason: "length" }), { stop_reason: "max_tokens", stop_sequence: null })
    assert.include(ended(said, { stop: ", 3" }), { stop_reason: "stop_sequence", stop_sequence: ", 3" })
    assert.include(ended(said, {}, ["2"]), { stop_reason: "stop_sequence", stop_sequence: "2" })
    assert.include(ended({ role: "assistant", content: null, tool_calls: [call("a", 1)] }, {}), {
      stop_reason: "tool_use"
    })
  })

  it("of nothing has no blocks", () => {
    assert.deepInclude(ended({ role: "assistant", content: "" }, {}), { content: [] })
  })
})

const words = Schema.Literals([
  "",
  " ",
  "Looking.\n",
  "日本語 😀 ",
  "</think>",
  '"quoted" \\ ',
  "\u0000\uD83D",
  "x".repeat(130)
])
const Call = Schema.Struct({
  name: Schema.Literals(["search", "run"]),
  input: Schema.Record(Schema.String, Schema.Json),
  result: words,
  isSpaced: Schema.Boolean
})
const Step = Schema.Struct({
  thinking: words,
  content: words,
  calls: Schema.Array(Call).check(Schema.isMaxLength(3)),
  question: words,
  isStreamed: Schema.Boolean
})

/** As a model writes JSON, which is not as a client writes it. */
const written = (input: unknown, isSpaced: boolean): string => JSON.stringify(input, null, isSpaced ? 2 : 0)

/** The call as it is compared: its arguments without the spelling that clients do not keep. */
const spelled = (message: Message): Message =>
  Object.assign({}, message, {
    ...(message.tool_calls && {
      tool_calls: message.tool_calls.map((one) => ({
        ...one,
        function: { ...one.function, arguments: JSON.stringify(JSON.parse(one.function.arguments)) }
      }))
    })
  })

describe("Messages: a conversation", () => {
  it.effect.prop(
    "that Anthropic's SDK holds is sent back as the messages that were recorded",
    [Schema.Array(Step).check(Schema.isMaxLength(4))],
    ([steps]) =>
      Effect.promise(async () => {
        const recorded: Array<Message> = [{ role: "user", content: "begin" }]
        const history: Array<Anthropic.MessageParam> = [{ role: "user", content: "begin" }]
        for (const [at, { calls, content, isStreamed, question, thinking }] of steps.entries()) {
          const message: Message = {
            role: "assistant",
            content: content === "" && calls.length > 0 ? null : content,
            ...(thinking !== "" && { reasoning_content: thinking }),
            ...(calls.length > 0 && {
              tool_calls: calls.map(({ input, isSpaced, name }, index) => ({
                id: `call_${at}_${index}`,
                type: "function",
                function: { name, arguments: written(input, isSpaced) }
              }))
            })
          }
          const sdk = Client.client(() => Client.choiceOf(message))
          const request = { model: "any", max_tokens: 9, messages: history }
          const answer = isStreamed
            ? await sdk.messages.stream(request).finalMessage()
            : await sdk.messages.create(request)
          recorded.push(message)
          history.push({ role: "assistant", content: answer.content })
          calls.forEach(({ result: told }, index) =>
            recorded.push({ role: "tool", content: told, tool_call_id: `call_${at}_${index}` })
          )
          recorded.push({ role: "user", content: question })
          history.push({
            role: "user",
            content: [
              ...calls.map(({ result: told }, index) => ({
                type: "tool_result" as const,
                tool_use_id: `call_${at}_${index}`,
                content: told
              })),
              { type: "text", text: question }
            ]
          })
          assert.deepStrictEqual(answer.stop_reason, calls.length > 0 ? "tool_use" : "end_turn")
        }
        const sent: unknown = JSON.parse(JSON.stringify(history))
        assert.deepStrictEqual(decode({ ...base, messages: sent }).request.messages.map(spelled), recorded.map(spelled))
      })
  )

  it("keeps arguments that are no object as the text that they were", async () => {
    for (const json of ["[1, 2]", '"text"', '{"broken": ', "7"]) {
      const message: Message = {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "a", type: "function", function: { name: "run", arguments: json } }]
      }
      const sdk = Client.client(() => Client.choiceOf(message))
      const request = { model: "any", max_tokens: 9, messages: [{ role: "user" as const, content: "go" }] }
      for (const { content } of [
        await sdk.messages.create(request),
        await sdk.messages.stream(request).finalMessage()
      ]) {
        const back = messagesOf([
          ...request.messages,
          { role: "assistant", content },
          { role: "user", content: [result("a", "")] }
        ])
        assert.deepStrictEqual(back[1], message)
      }
    }
  })
})
