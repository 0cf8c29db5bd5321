import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as RepeatedKeys from "../../src/base/json/RepeatedKeys.ts"
import * as ToolCalls from "../../src/inference/sequences/ToolCalls.ts"

const call = (json: string) => ToolCalls.callsOf(`<tool_call>${json}</tool_call>`)

describe("a key given twice", () => {
  it("is found at any depth and in any spelling, and nowhere else", () => {
    assert.strictEqual(RepeatedKeys.find('{"answer": 1, "answer": 2}'), "answer")
    assert.strictEqual(RepeatedKeys.find('{"a": [{"b": {}, "\\u0062": 1}]}'), "b")
    assert.strictEqual(RepeatedKeys.find('{"a": {"a": 1}, "b": {"a": "a"}}'), undefined)
    assert.strictEqual(RepeatedKeys.find('[{"a": 1}, {"a": "{\\"a\\": 1, \\"a\\": 2}"}]'), undefined)
  })

  it.prop(
    "is none in what was written from a value, and one where the object is written over",
    [Schema.Json],
    ([value]) => {
      const text = JSON.stringify({ key: value })
      assert.strictEqual(RepeatedKeys.find(text), undefined)
      assert.strictEqual(RepeatedKeys.find(`${text.slice(0, -1)},"key":0}`), "key")
    }
  )

  it.prop("is looked for in any text", [Schema.String], ([text]) => {
    RepeatedKeys.find(text)
    RepeatedKeys.find(`{"${text}":{"`)
  })

  it("makes a call of a tool none: it asks for two things", () => {
    assert.strictEqual(call('{"name": "f", "arguments": {"x": 1}}').length, 1)
    assert.strictEqual(call('{"name": "f", "arguments": {"x": 1, "x": 2}}').length, 0)
    assert.strictEqual(call('{"name": "f", "name": "g", "arguments": {}}').length, 0)
  })
})
