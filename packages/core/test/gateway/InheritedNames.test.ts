/** Keys that every object inherits, wherever a request may have keys of its own. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as TestGateway from "./TestGateway.ts"

const names = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf", "__defineGetter__"]
const values = ["1", "null", '"n"', "{}", '{"a": {"b": 1}}', "true"]

const tool = (key: string) =>
  `{"type": "function", "function": {"name": "look", "parameters": {"type": "object", ${key}, "properties": {${key}}}}}`
const called = (key: string) =>
  `{"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function", ${key}, "function": {"name": "look", "arguments": ${JSON.stringify(`{${key}}`)}}}]},
   {"role": "tool", "tool_call_id": "a", "content": "there"}`
const toolUse = (key: string) =>
  `{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {${key}}}]},
   {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "there"}]}`

const user = `{"role": "user", "content": "hi"}`

/** Bodies with a key at each place, by path. */
const bodies: ReadonlyArray<readonly [path: string, place: string, body: (key: string) => string]> = [
  ["/chat/completions", "the body", (key) => `{"model": "m", ${key}, "messages": [${user}]}`],
  ["/chat/completions", "a message", (key) => `{"messages": [{"role": "user", "content": "hi", ${key}}]}`],
  [
    "/chat/completions",
    "a part",
    (key) => `{"messages": [{"role": "user", "content": [{"type": "text", "text": "hi", ${key}}]}]}`
  ],
  [
    "/chat/completions",
    "an answer",
    (key) => `{"messages": [${user}, {"role": "assistant", "content": "a", ${key}}, ${user}]}`
  ],
  ["/chat/completions", "a call", (key) => `{"messages": [${user}, ${called(key)}]}`],
  ["/chat/completions", "a tool", (key) => `{"messages": [${user}], "tools": [${tool(key)}]}`],
  [
    "/chat/completions",
    "stream options",
    (key) => `{"stream": true, "messages": [${user}], "stream_options": {${key}}}`
  ],
  ["/chat/completions", "biases", (key) => `{"messages": [${user}], "logit_bias": {${key}}}`],
  [
    "/chat/completions",
    "a format",
    (key) =>
      `{"messages": [${user}], "response_format": {"type": "json_schema", "json_schema": {${key}, "schema": {"properties": {${key}}}}}}`
  ],
  ["/chat/completions", "metadata", (key) => `{"messages": [${user}], "metadata": {${key}}}`],
  ["/responses", "the body", (key) => `{"model": "m", ${key}, "input": "hi"}`],
  ["/responses", "metadata", (key) => `{"model": "m", "metadata": {${key}}, "input": "hi"}`],
  [
    "/responses",
    "an item",
    (key) => `{"model": "m", "input": [{"type": "message", "role": "user", "content": "hi", ${key}}]}`
  ],
  [
    "/responses",
    "a call",
    (key) =>
      `{"model": "m", "input": [{"type": "function_call", "call_id": "a", "name": "look", "arguments": ${JSON.stringify(`{${key}}`)}}, {"type": "function_call_output", "call_id": "a", "output": "b"}]}`
  ],
  [
    "/responses",
    "a tool",
    (key) =>
      `{"model": "m", "input": "hi", "tools": [{"type": "function", "name": "look", "parameters": {"type": "object", "properties": {${key}}}}]}`
  ],
  [
    "/responses",
    "text",
    (key) => `{"model": "m", "input": "hi", "text": {"format": {"type": "text", ${key}}, ${key}}}`
  ],
  ["/messages", "the body", (key) => `{"model": "m", "max_tokens": 9, ${key}, "messages": [${user}]}`],
  [
    "/messages",
    "a message",
    (key) => `{"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi", ${key}}]}`
  ],
  [
    "/messages",
    "a block",
    (key) =>
      `{"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": [{"type": "text", "text": "hi", ${key}}]}]}`
  ],
  ["/messages", "a call", (key) => `{"model": "m", "max_tokens": 9, "messages": [${user}, ${toolUse(key)}]}`],
  [
    "/messages",
    "a tool",
    (key) =>
      `{"model": "m", "max_tokens": 9, "messages": [${user}], "tools": [{"name": "look", "input_schema": {"type": "object", "properties": {${key}}}}]}`
  ],
  ["/messages", "metadata", (key) => `{"model": "m", "max_tokens": 9, "metadata": {${key}}, "messages": [${user}]}`],
  ["/messages", "wishes", (key) => `{"model": "m", "max_tokens": 9, "output_config": {${key}}, "messages": [${user}]}`]
]

describe("a key that every object inherits", () => {
  for (const name of names) {
    it.live(`is read or refused by name, never a failure of the gateway: ${name}`, () =>
      TestGateway.use(
        { script: Array.from({ length: 2000 }, () => TestGateway.call("look", { [name]: 1 })) },
        ({ gateway }) =>
          Effect.gen(function* () {
            const session = yield* gateway.open()
            for (const [path, place, bodyOf] of bodies) {
              for (const value of values) {
                const body = bodyOf(`${JSON.stringify(name)}: ${value}`)
                const { status, text } = yield* TestGateway.post(`${session.baseURL}${path}`, body)
                assert.include([200, 400], status, `${path}, ${place}: ${body} gave ${text}`)
                if (status === 400 && place === "the body") assert.include(text, name, `${path}: ${body}`)
              }
            }
            const rewarded = yield* TestGateway.post(session.rewardURL, `{"rewards": {"${name}": 1}}`)
            assert.include([200, 204, 400], rewarded.status, rewarded.text)
            yield* session.trajectories
          })
      )
    )
  }
})
