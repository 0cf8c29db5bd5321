/** Streamed answers as servers and proxies really send them, read as OpenAI's own client reads them. */
import { assert, describe, it } from "@effect/vitest"
import { ServerSettings } from "@atropos/core"
import { Effect, Result, Schema } from "effect"
import OpenAI from "openai"
import * as AnswerBody from "../../../src/inference/wire/AnswerBody.ts"
import * as EventStream from "../../../src/inference/wire/EventStream.ts"
import * as Identity from "../../../src/inference/backend/Identity.ts"
import type { Delta } from "../../../src/inference/wire/Inference.ts"
import * as OpenAi from "../../../src/inference/backend/OpenAi.ts"
import * as Reasoning from "../../../src/inference/backend/Reasoning.ts"
import * as Transport from "../../../src/inference/wire/Transport.ts"
import * as TestServer from "../TestServer.ts"

const chunk = (delta: unknown, finish: unknown = null, more: object = {}) => ({
  id: "c",
  object: "chat.completion.chunk",
  created: 0,
  model: "m",
  choices: [{ index: 0, delta, finish_reason: finish, ...more }]
})
const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`
const begin = chunk({ role: "assistant", content: null })
const call = (fields: object) => chunk({ tool_calls: [fields] })
const done = "data: [DONE]\n\n"
const stream = (chunks: ReadonlyArray<unknown>, finish = "tool_calls"): string =>
  [begin, ...chunks, chunk({}, finish)].map(event).join("") + done

const look = (name: string, text: string, more: object = {}) => ({
  type: "function",
  function: { name, arguments: text },
  ...more
})
const [a, b] = ['{"path": "a"}', '{"path": "b"}']

const serve = (text: string) =>
  Effect.gen(function* () {
    const reply: TestServer.Reply = { text, headers: { "content-type": "text/event-stream" } }
    const server = yield* TestServer.make(() => reply)
    const settings = ServerSettings.server.complete({ baseUrl: server.url })
    const transport = yield* Transport.make
    const identity = Identity.base("openai", "default")
    const backend = yield* OpenAi.make({ identity, settings, reasoning: Reasoning.off, transport })
    return { server, backend }
  })

const messages = [{ role: "user" as const, content: "hello" }]

const ask = (text: string) =>
  Effect.gen(function* () {
    const { backend, server } = yield* serve(text)
    const pieces: Array<Delta> = []
    const { choices, usage } = yield* backend.chat({ messages, onDelta: (piece) => pieces.push(piece) })
    const [choice] = choices
    const heard = (of: keyof Delta): string => pieces.map((piece) => piece[of] ?? "").join("")
    assert.strictEqual(heard("content"), choice!.text)
    assert.strictEqual(heard("reasoning"), choice!.message.reasoning_content ?? "")
    const client = new OpenAI({ baseURL: server.url, apiKey: "none", maxRetries: 0, logLevel: "off" })
    const theirs = Effect.tryPromise(() =>
      client.chat.completions.stream({ model: "m", messages }).finalChatCompletion()
    )
    return { choice: choice!, usage, theirs }
  })

interface Called {
  readonly id?: string
  readonly function: { readonly name: string; readonly arguments: string }
}
const callsOf = (calls: ReadonlyArray<Called> = []) =>
  calls.map(({ function: { arguments: text, name }, id }) => [id, name, text])

const bodyOf = (parts: ReadonlyArray<Uint8Array>): unknown => {
  const assembly = EventStream.make()
  const cutter = AnswerBody.lines()
  const lines = [...parts.flatMap((part) => cutter.take(part)), ...cutter.end(), ""]
  for (const line of lines) assert.isTrue(Result.isSuccess(assembly.take(line)), line)
  return Result.getOrThrow(assembly.end())
}

describe("a streamed answer", () => {
  const alike: ReadonlyArray<readonly [what: string, text: string]> = [
    ["text in pieces", stream([chunk({ content: "fo" }), chunk({ content: "ur" })], "stop")],
    [
      "calls under their indices, in pieces",
      stream([
        call({ index: 0, id: "call_a", ...look("read", "") }),
        call({ index: 0, function: { arguments: '{"path"' } }),
        call({ index: 1, id: "call_b", ...look("read", "") }),
        call({ index: 1, function: { arguments: b } }),
        call({ index: 0, function: { arguments: ': "a"}' } })
      ])
    ],
    [
      "indices out of order",
      stream([
        call({ index: 1, id: "call_b", ...look("read", b) }),
        call({ index: 0, id: "call_a", ...look("read", a) })
      ])
    ],
    [
      "pieces that repeat name and id",
      stream([
        call({ index: 0, id: "call_a", ...look("read", '{"path"') }),
        call({ index: 0, id: "call_a", ...look("read", ': "a"') }),
        call({ index: 0, id: "call_a", ...look("read", "}") })
      ])
    ],
    [
      "pieces that repeat the name alone",
      stream([
        call({ index: 0, id: "call_a", ...look("read", "") }),
        call({ index: 0, ...look("read", '{"path"') }),
        call({ index: 0, ...look("read", ': "a"}') }),
        call({ index: 0, ...look("read", "") })
      ])
    ],
    [
      "a new id with every piece",
      stream([
        call({ index: 0, id: "call_1", ...look("read", "") }),
        call({ index: 0, id: "call_2", function: { arguments: '{"path": ' } }),
        call({ index: 0, id: "call_3", function: { arguments: '"a"}' } })
      ])
    ],
    [
      "a new id and the name with every piece",
      stream([
        call({ index: 0, id: "call_1", ...look("read", '{"path": ') }),
        call({ index: 0, id: "call_2", ...look("read", '"a"}') })
      ])
    ],
    [
      "whole calls in one event",
      stream([
        chunk({
          tool_calls: [
            { index: 0, id: "call_a", ...look("read", a) },
            { index: 1, id: "call_b", ...look("read", b) }
          ]
        })
      ])
    ],
    [
      "calls of one name without arguments",
      stream([
        call({ index: 0, id: "call_a", ...look("now", "") }),
        call({ index: 1, id: "call_b", ...look("now", "") })
      ])
    ],
    [
      "nulls where a piece has nothing",
      stream([
        call({ index: 0, id: "call_a", ...look("read", "") }),
        call({ index: 0, id: null, type: null, function: { name: null, arguments: a } })
      ])
    ],
    [
      "empty finish reasons",
      [chunk({ role: "assistant", content: "four" }, ""), chunk({}, "stop"), chunk({}, "")].map(event).join("") + done
    ],
    [
      "a finish reason with every piece",
      [chunk({ role: "assistant", content: "fo" }, "stop"), chunk({ content: "ur" }, "stop")].map(event).join("")
    ],
    ["no end behind the finish reason", [begin, chunk({ content: "four" }), chunk({}, "length")].map(event).join("")],
    [
      "no empty line at the end",
      stream([chunk({ content: "four" })], "stop")
        .replace(done, "")
        .trimEnd()
    ],
    ["events behind the end", stream([chunk({ content: "four" })], "stop") + "data: {oh}\n\n"],
    [
      "comments",
      ": OPENROUTER PROCESSING\n\n" + stream([chunk({ content: "four" })], "stop").replaceAll("\n\n", "\n\n: ping\n\n")
    ],
    [
      "other fields of events",
      stream([chunk({ content: "four" })], "stop").replaceAll("data:", "id: 7\nretry: 3\nevent: message\ndata:")
    ],
    ["no blank behind the colon", stream([chunk({ content: "four" })], "stop").replaceAll("data: ", "data:")],
    [
      "lines that end in CR",
      stream([chunk({ content: "fo" }), chunk({ content: "ur" })], "stop").replaceAll("\n", "\r")
    ],
    [
      "lines that end in CRLF",
      stream([chunk({ content: "fo" }), chunk({ content: "ur" })], "stop").replaceAll("\n", "\r\n")
    ],
    [
      "an event of two data lines",
      stream([chunk({ content: "four" })], "stop").replaceAll('"choices":', '\ndata: "choices":')
    ],
    [
      "an event over many lines",
      [begin, chunk({ content: "four" }), chunk({}, "stop")]
        .map((one) => `${JSON.stringify(one, null, 1).replace(/^/gm, "data: ")}\n\n`)
        .join("")
    ],
    ["a byte-order mark", `\uFEFF${stream([chunk({ content: "four" })], "stop")}`],
    ["a refusal", stream([chunk({ refusal: "I " }), chunk({ refusal: "won't" })], "stop")],
    [
      "usage in an event without choices",
      stream([chunk({ content: "four" })], "stop").replace(
        done,
        event({ ...begin, choices: [], usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 } }) + done
      )
    ]
  ]
  for (const [what, text] of alike) {
    it.live(`is read as OpenAI's client reads it: ${what}`, () =>
      Effect.gen(function* () {
        const { choice, theirs, usage } = yield* ask(text)
        const whole = yield* theirs
        const [{ finish_reason: finish, message }] = whole.choices as [(typeof whole.choices)[0]]
        assert.deepStrictEqual(
          callsOf(choice.toolCalls),
          callsOf(message.tool_calls as ReadonlyArray<Called> | undefined)
        )
        assert.strictEqual(choice.message.content, message.content)
        assert.strictEqual(choice.message["refusal"] ?? null, message.refusal)
        assert.strictEqual(choice.finishReason, finish)
        if (whole.usage) assert.strictEqual(usage?.completionTokens, whole.usage.completion_tokens)
      })
    )
  }

  const both = [
    ["call_a", "read", a],
    ["call_b", "read", b]
  ]
  const anonymous = [
    [undefined, "read", a],
    [undefined, "read", b]
  ]
  const more: ReadonlyArray<readonly [what: string, text: string, calls: ReadonlyArray<unknown>]> = [
    [
      "calls whose indices begin at 1",
      stream([
        call({ index: 1, id: "call_a", ...look("read", a) }),
        call({ index: 2, id: "call_b", ...look("read", b) })
      ]),
      both
    ],
    [
      "a call in the old form",
      stream([chunk({ function_call: { name: "read", arguments: "" } }), chunk({ function_call: { arguments: a } })]),
      anonymous.slice(0, 1)
    ],
    [
      "several calls under one index",
      stream([
        call({ index: 0, id: "call_a", ...look("read", a) }),
        call({ index: 0, id: "call_b", ...look("read", b) })
      ]),
      both
    ],
    [
      "several calls under one index, in pieces",
      stream([
        call({ index: 0, id: "call_a", ...look("read", "") }),
        call({ index: 0, function: { arguments: a } }),
        call({ index: 0, id: "call_b", ...look("read", '{"path":') }),
        call({ index: 0, id: "call_b", function: { arguments: ' "b"}' } })
      ]),
      both
    ],
    [
      "several calls under one index, with empty ids",
      stream([call({ index: 0, id: "", ...look("read", a) }), call({ index: 0, id: "", ...look("read", b) })]),
      anonymous
    ],
    [
      "several calls under one index, of one event",
      stream([
        chunk({
          tool_calls: [
            { index: 0, id: "call_a", ...look("read", a) },
            { index: 0, id: "call_b", ...look("read", b) }
          ]
        })
      ]),
      both
    ],
    [
      "calls without index",
      stream([call({ id: "call_a", ...look("read", a) }), call({ id: "call_b", ...look("read", b) })]),
      both
    ],
    [
      "calls without index in pieces",
      stream([
        call({ id: "call_a", ...look("read", "") }),
        call({ function: { arguments: a } }),
        call({ id: "call_b", ...look("read", '{"path"') }),
        call({ id: "call_b", function: { arguments: ': "b"}' } })
      ]),
      both
    ],
    [
      "pieces without index that interleave",
      stream([
        call({ id: "call_a", ...look("read", '{"path"') }),
        call({ id: "call_b", ...look("read", '{"path"') }),
        call({ id: "call_a", function: { arguments: ': "a"}' } }),
        call({ id: "call_b", function: { arguments: ': "b"}' } })
      ]),
      both
    ],
    ["calls without index and id", stream([call(look("read", a)), call(look("read", b))]), anonymous],
    [
      "calls without index and id in one event",
      stream([chunk({ tool_calls: [look("read", a), look("read", b)] })]),
      anonymous
    ],
    [
      "calls of one name without arguments, index and id",
      stream([chunk({ tool_calls: [look("now", ""), look("now", "")] })]),
      [
        [undefined, "now", ""],
        [undefined, "now", ""]
      ]
    ],
    [
      "a message that is sent whole",
      event(
        chunk(undefined, "tool_calls", {
          message: {
            role: "assistant",
            content: null,
            tool_calls: [
              { id: "call_a", ...look("read", a) },
              { id: "call_b", ...look("read", b) }
            ]
          }
        })
      ),
      both
    ]
  ]
  for (const [what, text, calls] of more) {
    it.live(`keeps its calls apart: ${what}`, () =>
      Effect.map(ask(text), ({ choice }) => assert.deepStrictEqual(callsOf(choice.toolCalls), calls))
    )
  }

  const texts: ReadonlyArray<readonly [what: string, text: string]> = [
    [
      "comments behind data",
      stream([chunk({ content: "fo" }), chunk({ content: "ur" })], "stop").replaceAll(
        "data: {",
        "data: : keepalive\n\ndata: {"
      )
    ],
    [
      "comments behind data in the event itself",
      stream([chunk({ content: "four" })], "stop").replaceAll("data: {", "data: : keepalive\ndata: {")
    ],
    [
      "no empty lines between events",
      stream([chunk({ content: "fo" }), chunk({ content: "ur" })], "stop").replaceAll("\n\n", "\n")
    ],
    ["empty data", stream([chunk({ content: "four" })], "stop").replaceAll("data: {", "data:\n\ndata: {")],
    ["a ping", `event: ping\n${event({ type: "ping" })}${stream([chunk({ content: "four" })], "stop")}`],
    [
      "parts of text",
      stream(
        [chunk({ content: [{ type: "text", text: "fo" }] }), chunk({ content: [{ type: "text", text: "ur" }] })],
        "stop"
      )
    ],
    [
      "a message that is sent whole at the end",
      [begin, chunk({ content: "fo" }), chunk(undefined, "stop", { message: { role: "assistant", content: "four" } })]
        .map(event)
        .join("")
    ],
    [
      "a body that is not streamed",
      JSON.stringify(
        { choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "four" } }] },
        null,
        2
      )
    ]
  ]
  for (const [what, text] of texts) {
    it.live(`is read whole: ${what}`, () =>
      Effect.gen(function* () {
        const { backend } = yield* serve(text)
        const { choices } = yield* backend.chat({ messages, onDelta: () => undefined })
        assert.deepStrictEqual([choices[0]!.text, choices[0]!.finishReason], ["four", "stop"])
      })
    )
  }

  const thoughts: ReadonlyArray<readonly [what: string, deltas: ReadonlyArray<object>]> = [
    ["reasoning_content", [{ reasoning_content: "hm" }, { reasoning_content: "mm" }]],
    ["reasoning", [{ reasoning: "hm" }, { reasoning: "mm" }]],
    [
      "both, as one",
      [
        { reasoning: "hm", reasoning_content: "hm" },
        { reasoning: "mm", reasoning_content: "mm" }
      ]
    ],
    [
      "details",
      [{ reasoning_details: [{ type: "reasoning.text", text: "hm" }] }, { reasoning_details: [{ text: "mm" }] }]
    ],
    ["parts of thinking", [{ content: [{ type: "thinking", thinking: [{ type: "text", text: "hmmm" }] }] }]]
  ]
  for (const [what, deltas] of thoughts) {
    it.live(`has its thinking: ${what}`, () =>
      Effect.gen(function* () {
        const { choice } = yield* ask(
          stream([...deltas.map((delta) => chunk(delta)), chunk({ content: "four" })], "stop")
        )
        assert.deepStrictEqual([choice.message.reasoning_content, choice.text], ["hmmm", "four"])
      })
    )
  }

  const broken: ReadonlyArray<readonly [what: string, text: string, complaint: string]> = [
    ["breaks off", [begin, chunk({ content: "fo" })].map(event).join(""), "ended before the answer was complete"],
    ["breaks off with its end", [begin, chunk({ content: "fo" })].map(event).join("") + done, "ended before"],
    ["breaks off within an event", stream([chunk({ content: "four" })], "stop").slice(0, -80), "not a JSON object"],
    ["has an error", event(begin) + event({ error: { message: "out of memory" } }), "out of memory"],
    [
      "has an event of an error",
      event(begin) + `event: error\n${event({ message: "out of memory" })}`,
      "out of memory"
    ],
    ["has vLLM's error", event(begin) + event({ object: "error", message: "out of memory" }), "out of memory"],
    ["has an event that is no JSON", `${event(begin)}data: ping\n\n${stream([], "stop")}`, "not a JSON object"],
    ["has an event that is no chunk", event({ detail: "busy" }) + stream([], "stop"), "not a chunk"],
    ["has an event that is a list", event([begin]) + stream([], "stop"), "not a JSON object"],
    [
      "has another choice",
      event({ ...begin, choices: [{ index: 1, delta: { content: "x" } }] }) + stream([], "stop"),
      "one choice"
    ],
    ["has an index that is none", stream([call({ index: -1, ...look("read", a) })]), "is invalid"],
    ["has an index of text", stream([call({ index: "0", ...look("read", a) })]), "is invalid"],
    [
      "has arguments that are no text",
      stream([call({ index: 0, function: { name: "read", arguments: { path: "a" } } })]),
      "is invalid"
    ],
    ["has arguments of no call", stream([call({ function: { arguments: a } })]), "belongs to no call"],
    ["has a call without a name", stream([call({ index: 0, id: "call_a", function: { arguments: a } })]), "no name"],
    [
      "has a custom call",
      stream([call({ index: 0, id: "x", type: "custom", custom: { name: "sh", input: "ls" } })]),
      "is invalid"
    ],
    ["has content that is a number", stream([chunk({ content: 4 })], "stop"), "content is invalid"],
    ["has content of an unknown part", stream([chunk({ content: [{ type: "audio" }] })], "stop"), "content is invalid"],
    [
      "ends with another message",
      [begin, chunk({ content: "fo" }), chunk(undefined, "stop", { message: { content: "five" } })].map(event).join(""),
      "differs from the streamed one"
    ],
    [
      "has a thousand calls and more",
      stream(Array.from({ length: 1025 }, (_, index) => call({ index, ...look("read", a) }))),
      "more than 1024"
    ]
  ]
  for (const [what, text, complaint] of broken) {
    it.live(`is a failure where the stream ${what}`, () =>
      Effect.gen(function* () {
        const { backend } = yield* serve(text)
        const error = yield* Effect.flip(backend.chat({ messages, onDelta: () => undefined }))
        assert.strictEqual(error.reason, "malformed")
        assert.include(error.message, complaint)
      })
    )
  }

  it.live("has the status that an error among its events names", () =>
    Effect.gen(function* () {
      for (const error of [
        { error: { message: "paused", code: 503 } },
        { object: "error", message: "paused", code: 503 }
      ]) {
        const { backend } = yield* serve(event(begin) + event(error))
        const { reason, status } = yield* Effect.flip(backend.chat({ messages, onDelta: () => undefined }))
        assert.deepStrictEqual([reason, status], ["overloaded", 503])
      }
    })
  )

  it.live("is a failure where the connection breaks", () =>
    Effect.gen(function* () {
      const text = [begin, chunk({ content: "four" }), chunk({}, "stop")].map(event).join("")
      const headers = { "content-type": "text/event-stream", "content-length": "9999", connection: "close" }
      const server = yield* TestServer.make(() => ({ text, headers }))
      const settings = ServerSettings.server.complete({ baseUrl: server.url })
      const transport = yield* Transport.make
      const identity = Identity.base("openai", "default")
      const backend = yield* OpenAi.make({ identity, settings, reasoning: Reasoning.off, transport })
      const error = yield* Effect.flip(backend.chat({ messages, onDelta: () => undefined }))
      assert.strictEqual(error.reason, "unreachable")
    })
  )

  const whole = stream([chunk({ content: "vier 四 🍣" }), call({ index: 0, id: "call_a", ...look("read", a) })])
  it.prop(
    "is the same however its bytes are cut and its lines end",
    [Schema.Literals(["\n", "\r", "\r\n"]), Schema.Array(Schema.Natural).check(Schema.isMaxLength(20))],
    ([ending, cuts]) => {
      const bytes = new TextEncoder().encode(whole.replaceAll("\n", ending))
      const at = [0, ...cuts.map((cut) => cut % bytes.length).toSorted((one, other) => one - other), bytes.length]
      const parts = at.slice(1).map((end, index) => bytes.subarray(at[index], end))
      assert.deepStrictEqual(bodyOf(parts), bodyOf([new TextEncoder().encode(whole)]))
    }
  )
})
