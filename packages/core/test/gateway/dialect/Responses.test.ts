import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Cause, Effect, Exit, Option, Schema } from "effect"
import * as Responses from "../../../src/gateway/dialect/responses/Responses.ts"
import type { Message } from "../../../src/trajectory/Message.ts"
import { answer, decode, memory, refusal } from "./ResponsesTest.ts"

const hello = { role: "user", content: "hello" }

const called = (id: string, name: string, text: string) => ({
  id,
  type: "function",
  function: { name, arguments: text }
})

describe("a request of the Responses API", () => {
  it("becomes a chat with its tools and its sampling", () => {
    const { ignored, isStreamed, request } = decode({
      model: "any",
      instructions: "Be brief.",
      input: [
        { role: "developer", content: "In English." },
        {
          type: "message",
          role: "user",
          content: [
            { type: "input_text", text: "hel" },
            { type: "input_text", text: "lo" }
          ]
        }
      ],
      tools: [{ type: "function", strict: true, name: "add", description: "adds", parameters: { type: "object" } }],
      tool_choice: "auto",
      parallel_tool_calls: true,
      max_output_tokens: 20,
      temperature: 0.5,
      top_p: 0.9,
      stream: true,
      store: null,
      user: "me",
      reasoning: { effort: "low" },
      text: { verbosity: "low", format: { type: "json_schema", name: "answer", schema: {} } }
    })
    assert.deepStrictEqual(request, {
      messages: [
        { role: "system", content: "Be brief." },
        { role: "system", content: "In English." },
        { role: "user", content: "hello" }
      ],
      tools: [{ type: "function", function: { name: "add", description: "adds", parameters: { type: "object" } } }],
      toolChoice: "auto",
      maxTokens: 20,
      temperature: 0.5,
      topP: 0.9,
      constraints: {
        names: ["text.format"],
        body: { response_format: { type: "json_schema", json_schema: { name: "answer", schema: {} } } }
      }
    })
    assert.isTrue(isStreamed)
    assert.deepStrictEqual(ignored, ["user", "reasoning.effort", "text.verbosity", "tools.strict"])
  })

  it("shows tools of namespaces, of free text and of its items as functions, and names their calls as it does", () => {
    const input = [
      {
        type: "additional_tools",
        role: "developer",
        tools: [{ type: "custom", name: "exec", format: { type: "text" } }]
      },
      hello
    ]
    const body = {
      model: "any",
      tools: [
        { type: "web_search" },
        { type: "namespace", name: "functions", tools: [{ type: "function", name: "plain" }] },
        { type: "namespace", name: "team", tools: [{ type: "function", name: "spawn" }] }
      ]
    }
    const turn = decode({ ...body, input })
    const shown = turn.request.tools as ReadonlyArray<{ readonly function: { readonly name: string } }>
    assert.deepStrictEqual(
      shown.map(({ function: { name } }) => name),
      ["plain", "team__spawn", "exec"]
    )
    assert.deepStrictEqual(turn.ignored, ["tools.web_search", "tools.format"])
    const said: Message = {
      role: "assistant",
      content: null,
      tool_calls: [called("a", "team__spawn", "{}"), called("b", "exec", '{"input":"ls"}'), called("c", "plain", "{}")]
    }
    const { output } = answer(turn, "1", said, memory())
    const [spawn, exec, plain] = output
    assert.deepInclude(spawn, { type: "function_call", name: "spawn", namespace: "team", arguments: "{}" })
    assert.deepInclude(exec, { type: "custom_tool_call", name: "exec", input: "ls" })
    assert.deepInclude(plain, { type: "function_call", name: "plain", namespace: "functions" })
    const outputs = [
      { type: "function_call_output", call_id: "a", output: "1" },
      { type: "custom_tool_call_output", call_id: "b", output: "2" },
      { type: "function_call_output", call_id: "c", output: "3" }
    ]
    const again = decode({ ...body, input: [...input, ...output, ...outputs] })
    assert.deepStrictEqual(again.request.messages[1], said)
  })

  it("passes pictures on by their URL", () => {
    const url = "data:image/png;base64,AAAA"
    const { request } = decode({
      input: [
        {
          role: "user",
          content: [
            { type: "input_text", text: "what is it?" },
            { type: "input_image", image_url: url, detail: "auto" },
            { type: "input_image", image_url: url, detail: "low" }
          ]
        }
      ]
    })
    assert.deepStrictEqual(request.messages[0]?.content, [
      { type: "text", text: "what is it?" },
      { type: "image_url", image_url: { url } },
      { type: "image_url", image_url: { url, detail: "low" } }
    ])
  })

  it("refuses by name what cannot be done", () => {
    const refused: ReadonlyArray<readonly [object, string]> = [
      [{ tools: [{ type: "local_shell" }] }, "tools[0].type"],
      [{ tools: [{ type: "mcp", server_label: "docs", server_url: "https://example.com" }] }, "tools[0].type"],
      [{ tool_choice: { type: "allowed_tools", mode: "auto", tools: [] } }, "tool_choice"],
      [{ background: true }, "background"],
      [{ conversation: "conv_1" }, "conversation"],
      [{ prompt: { id: "pmpt_1" } }, "prompt"],
      [{ top_logprobs: 2 }, "top_logprobs"],
      [{ include: ["message.output_text.logprobs"] }, "include"],
      [{ frequency_penalty: 1 }, "frequency_penalty"],
      [{ maxOutputTokens: 5 }, "maxOutputTokens"],
      [{ input: [{ role: "user", content: [{ type: "input_file", file_id: "file-1" }] }] }, "input[0].content[0].type"],
      [
        { input: [{ role: "user", content: [{ type: "input_image", file_id: "file-1" }] }] },
        "input[0].content[0].file_id"
      ],
      [{ input: [hello, { type: "computer_call_output", call_id: "c", output: {} }] }, "input[1].type"],
      [{ input: [hello, { role: "assistant", content: "well" }] }, "input"]
    ]
    for (const [body, param] of refused) {
      const error = refusal({ model: "any", input: "hello", ...body })
      assert.deepStrictEqual([error.status, error.param, error.code], [400, param, "unsupported_parameter"])
      assert.match(error.message, new RegExp(`^${param.replaceAll(/[[\].]/g, "\\$&")}: `))
    }
  })

  it("is told where it is wrong", () => {
    const wrong: ReadonlyArray<readonly [unknown, string | null]> = [
      [[], null],
      ["hello", null],
      [{}, "input"],
      [{ input: 5 }, "input"],
      [{ input: [] }, "input"],
      [{ input: ["hello"] }, "input[0]"],
      [{ input: [null] }, "input[0]"],
      [{ input: [{ role: "king", content: "we" }] }, "input[0].role"],
      [{ input: [{ role: "user" }] }, "input[0].content"],
      [{ input: [{ role: "user", content: 5 }] }, "input[0].content"],
      [{ input: [{ role: "user", content: [{ text: "hello" }] }] }, "input[0].content[0].type"],
      [{ input: [{ role: "user", content: [{ type: "input_text" }] }] }, "input[0].content[0].text"],
      [{ input: [hello, { type: "function_call", name: "add", arguments: "{}" }] }, "input[1].call_id"],
      [{ input: [hello, { type: "function_call", call_id: "c", name: "add", arguments: {} }] }, "input[1].arguments"],
      [{ input: [hello, { type: "function_call_output", call_id: "c", output: "3" }] }, "input[1].call_id"],
      [{ input: [hello, { type: "item_reference", id: "msg_1_0" }] }, "input[1].id"],
      [{ input: [hello, { type: "reasoning", id: "rs_1", encrypted_content: "gAAAA" }] }, "input[1].encrypted_content"],
      [{ input: "hello", tools: {} }, "tools"],
      [{ input: "hello", tools: [{ type: "function" }] }, "tools[0].name"],
      [{ input: "hello", temperature: "hot" }, "temperature"],
      [{ input: "hello", max_output_tokens: 0 }, "max_output_tokens"],
      [{ input: "hello", text: { format: { type: "yaml" } } }, "text.format.type"]
    ]
    for (const [body, param] of wrong) {
      const error = refusal(body)
      assert.deepStrictEqual([error.status, error.type, error.param], [400, "invalid_request_error", param])
    }
    const error = refusal({ input: "hello", previous_response_id: "resp_1" })
    assert.deepStrictEqual([error.param, error.code], ["previous_response_id", "previous_response_not_found"])
  })
})

const anyItem = Schema.Struct({
  type: Schema.optionalKey(
    Schema.Union([
      Schema.Literals(["message", "reasoning", "function_call", "function_call_output", "item_reference"]),
      Schema.Json
    ])
  ),
  role: Schema.optionalKey(Schema.Union([Schema.Literals(["user", "assistant", "system"]), Schema.Json])),
  id: Schema.optionalKey(Schema.Union([Schema.Literals(["msg_a1_0", "rs_a1_0", "fc_a1_0", "fc_a1_7"]), Schema.Json])),
  call_id: Schema.optionalKey(Schema.Union([Schema.Literals(["c1"]), Schema.Json])),
  name: Schema.optionalKey(Schema.Json),
  arguments: Schema.optionalKey(Schema.Json),
  output: Schema.optionalKey(Schema.Json),
  content: Schema.optionalKey(
    Schema.Union([
      Schema.Array(Schema.Struct({ type: Schema.Literals(["input_text", "input_image"]), text: Schema.Json })),
      Schema.Json
    ])
  ),
  summary: Schema.optionalKey(Schema.Json),
  encrypted_content: Schema.optionalKey(Schema.Json)
})
const anyBody = Schema.Struct({
  input: Schema.Union([Schema.Array(Schema.Union([anyItem, Schema.Json])), Schema.Json]),
  tools: Schema.optionalKey(Schema.Json),
  tool_choice: Schema.optionalKey(Schema.Json),
  text: Schema.optionalKey(Schema.Json),
  previous_response_id: Schema.optionalKey(Schema.Literals(["resp_a1", "resp_a2"])),
  temperature: Schema.optionalKey(Schema.Json)
})

describe("a hostile request of the Responses API", () => {
  it.prop(
    "is read or refused, and breaks nothing",
    [Arbitrary.schema(Schema.Union([anyBody, Schema.Json]))],
    ([body]) => {
      const store = memory()
      answer(decode({ input: "hello" }, store), "a1", { role: "assistant", content: "hi" }, store)
      const exit = Effect.runSyncExit(Responses.dialect.decode(body, store))
      if (Exit.isSuccess(exit)) return assert.notStrictEqual(exit.value.request.messages.length, 0)
      const failure = Option.getOrThrow(Cause.findErrorOption(exit.cause))
      assert.include(["invalid", "unsupported"], failure.reason)
    }
  )
})

describe("a response", () => {
  const message: Message = { role: "assistant", content: "hi" }

  it("is remembered without the instructions it was given with, unless it is not to be stored", () => {
    const store = memory()
    const first = decode({ input: "hello", instructions: "Be brief." }, store)
    const { id } = answer(first, "a1", message, store)
    const next = decode({ input: "and?", previous_response_id: id, instructions: "Be long." }, store)
    assert.deepStrictEqual(next.request.messages, [
      { role: "system", content: "Be long." },
      { role: "user", content: "hello" },
      message,
      { role: "user", content: "and?" }
    ])
    answer(decode({ input: "hello", store: false }, store), "a2", message, store)
    assert.strictEqual(refusal({ input: "and?", previous_response_id: "resp_a2" }, store).param, "previous_response_id")
  })

  it("is given again by its id until it is deleted", () => {
    const store = memory()
    const response = answer(decode({ input: "hello" }, store), "a1", message, store)
    const { stored } = Responses.dialect
    assert.deepStrictEqual(Effect.runSync(stored!.retrieve("resp_a1", store)), response)
    assert.deepStrictEqual(Effect.runSync(stored!.remove("resp_a1", store)), {
      id: "resp_a1",
      object: "response",
      deleted: true
    })
    const gone = Responses.dialect.failure(Effect.runSync(Effect.flip(stored!.retrieve("resp_a1", store))))
    assert.strictEqual(gone.status, 404)
  })

  it("that ended at its limit is incomplete, with the item that was cut", () => {
    const store = memory()
    const turn = decode({ input: "hello", metadata: { run: "1" } }, store)
    const response = answer(
      turn,
      "a1",
      { role: "assistant", content: "hi", reasoning_content: "well" },
      store,
      "length"
    )
    assert.strictEqual(response.status, "incomplete")
    assert.deepStrictEqual(response["incomplete_details"], { reason: "max_output_tokens" })
    assert.deepStrictEqual(
      response.output.map(({ status }) => status),
      ["completed", "incomplete"]
    )
    assert.deepStrictEqual(response["metadata"], { run: "1" })
  })

  it("has a message where nothing was said, and a summary where one was asked for", () => {
    const store = memory()
    const turn = decode({ input: "hello", reasoning: { summary: "auto" } }, store)
    const response = answer(turn, "a1", { role: "assistant", content: null, reasoning_content: "hm" }, store)
    assert.deepStrictEqual(
      response.output.map(({ type }) => type),
      ["reasoning", "message"]
    )
    assert.deepInclude(response.output[0], { summary: [{ type: "summary_text", text: "hm" }] })
  })

  it("names calls that have no id, and remembers them so", () => {
    const store = memory()
    const calls = [{ type: "function", function: { name: "add", arguments: "{}" } }]
    const response = answer(
      decode({ input: "hello" }, store),
      "a1",
      { role: "assistant", content: null, tool_calls: calls },
      store
    )
    const call_id = "call_a1_0"
    assert.deepInclude(response.output[0], { type: "function_call", call_id })
    const output = { type: "function_call_output", call_id, output: "3" }
    const next = decode({ input: [output], previous_response_id: response.id }, store)
    assert.deepInclude(next.request.messages.at(-1), { role: "tool", tool_call_id: call_id })
  })
})
