import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as TestGateway from "./TestGateway.ts"

const promptTokens = 256
const long = "word ".repeat(1000)

const call = { id: "a", type: "function", function: { name: "look", arguments: JSON.stringify({ at: long }) } }

/** Requests of every endpoint whose prompts are too long, by what makes them long. */
const requests: ReadonlyArray<readonly [what: string, path: string, body: object]> = [
  ["its message", "chat/completions", { messages: [{ role: "user", content: long }] }],
  ["its message", "messages", { max_tokens: 4, messages: [{ role: "user", content: long }] }],
  ["its message", "messages/count_tokens", { messages: [{ role: "user", content: long }] }],
  ["its message", "responses", { input: long }],
  [
    "a tool",
    "chat/completions",
    {
      messages: [{ role: "user", content: "hi" }],
      tools: [{ type: "function", function: { name: "look", description: long, parameters: {} } }]
    }
  ],
  [
    "an earlier call",
    "chat/completions",
    {
      messages: [
        { role: "user", content: "hi" },
        { role: "assistant", content: null, tool_calls: [call] },
        { role: "tool", tool_call_id: "a", content: "seen" }
      ]
    }
  ],
  [
    "a tool",
    "messages/count_tokens",
    { messages: [{ role: "user", content: "hi" }], tools: [{ name: "look", description: long, input_schema: {} }] }
  ]
]

describe("prompts that are longer than any may be", () => {
  it.live("are refused before anything is asked, in sessions and without one, whatever makes them long", () => {
    let asked = 0
    const script = () => `${++asked}`
    return TestGateway.use({ script, promptTokens, hasConversations: true }, ({ gateway }) =>
      Effect.gen(function* () {
        const session = yield* gateway.open()
        for (const base of [session.baseURL, `${gateway.url}/v1`]) {
          for (const [what, path, body] of requests) {
            const { status, text } = yield* TestGateway.post(`${base}/${path}`, { model: "any", ...body })
            assert.deepStrictEqual([what, path, status], [what, path, 400])
            assert.match(text, /exceed the prompt limit of 256 tokens/)
          }
        }
        assert.strictEqual(asked, 0)
      })
    )
  })
})
