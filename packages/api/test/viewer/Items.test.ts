import { assert, describe, it } from "@effect/vitest"
import * as Items from "../../viewer/src/evaluation/Items.ts"

const call = (args: string) => `<tool_call>{"name": "book_table", "arguments": {${args}}}</tool_call>`

describe("fromDifference", () => {
  it("shows long texts from the word before their difference", () => {
    const [expected, answer] = [call('"seats": 6'), call('"seats": 8')]
    assert.strictEqual(Items.fromDifference(expected, answer), '…{"seats": 6}}</tool_call>')
    assert.strictEqual(Items.fromDifference(answer, expected), '…{"seats": 8}}</tool_call>')
    assert.strictEqual(
      Items.fromDifference(call('"day": "Friday"'), expected),
      '…"arguments": {"day": "Friday"}}</tool_call>'
    )
  })

  it("shows the end of a text that continues another one, and the other whole if it is short", () => {
    assert.strictEqual(
      Items.fromDifference("see there the quick brown fox jumps over", "see there the quick brown fox jumps"),
      "…fox jumps over"
    )
    assert.strictEqual(
      Items.fromDifference("it was the quick brown fox", "it was the quick brown fox jumps"),
      "it was the quick brown fox"
    )
  })

  it("shows equal texts, and those with a short common beginning, whole", () => {
    assert.strictEqual(Items.fromDifference(call(""), call("")), call(""))
    assert.strictEqual(Items.fromDifference("100 + 100 = 200", "100 + 100 = 210"), "100 + 100 = 200")
    assert.strictEqual(Items.fromDifference("", "x"), "")
  })
})
