/** The forms of messages that SDKs send back, as the prompt that the policy gets. */
import { Tokenizer } from "@atropos/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { serve } from "./TestPolicyServer.ts"

const decodeAnswer = Schema.decodeUnknownSync(
  Schema.Struct({
    tokens: Schema.optionalKey(Schema.Array(Schema.Int)),
    error: Schema.optionalKey(Schema.Struct({ param: Schema.String }))
  })
)

const post = (url: string, path: string, body: unknown) =>
  Effect.promise(async () => {
    const headers = { "content-type": "application/json" }
    const response = await fetch(`${url}${path}`, { method: "POST", body: JSON.stringify(body), headers })
    const json = decodeAnswer(await response.json())
    return { status: response.status, json }
  })

const user = { role: "user", content: "hi" }
const called = { name: "add", arguments: '{"a": 1}' }
const call = { id: "a", type: "function", function: called }
const turn = (role: string, content: string) => `<|im_start|>${role}\n${content}<|im_end|>\n`
const written = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'

describe("messages of a chat", () => {
  const forms: ReadonlyArray<readonly [form: string, messages: ReadonlyArray<unknown>, prompt: string]> = [
    ["a developer's message", [{ role: "developer", content: "be brief" }, user], turn("system", "be brief")],
    ["an empty answer with null", [{ role: "assistant", content: null }, user], turn("assistant", "")],
    ["an empty answer without content", [{ role: "assistant", reasoning_content: "hm" }, user], turn("assistant", "")],
    [
      "every key, absent ones with null, as Python's model_dump() does",
      [{ role: "assistant", content: "yes", refusal: null, audio: null, tool_calls: null, function_call: null }, user],
      turn("assistant", "yes")
    ],
    ["an empty list of calls", [{ role: "assistant", content: null, tool_calls: [] }, user], turn("assistant", "")],
    [
      "calls and results, without tools",
      [
        { role: "assistant", content: null, tool_calls: [call] },
        { role: "tool", tool_call_id: "a", content: "1" }
      ],
      turn("assistant", written) + turn("tool", "1")
    ],
    [
      "a legacy call and its result",
      [
        { role: "assistant", content: null, function_call: called },
        { role: "function", name: "add", content: "1" }
      ],
      turn("assistant", written) + turn("tool", "1")
    ]
  ]
  for (const [form, messages, prompt] of forms) {
    it.live(`reads ${form}`, () =>
      Effect.gen(function* () {
        const { asked, url } = yield* serve(() => "ok")
        const { json, status } = yield* post(url, "/v1/chat/completions", { messages })
        assert.strictEqual(status, 200, JSON.stringify(json))
        const ids = asked[0]!.promptTokens
        const text = Tokenizer.bytes.decode(ids)
        assert.include(text, prompt)
        const counted = yield* post(url, "/tokenize", { messages })
        assert.deepStrictEqual(counted.json.tokens, [...ids])
      })
    )
  }

  it.live("names a message without a role", () =>
    Effect.gen(function* () {
      const { url } = yield* serve(() => "ok")
      const { json, status } = yield* post(url, "/v1/chat/completions", { messages: [user, { content: "x" }] })
      assert.deepStrictEqual([status, json.error?.param], [400, "messages.1.role"])
    })
  )
})
