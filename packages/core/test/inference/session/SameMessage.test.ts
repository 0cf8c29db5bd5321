import { assert, describe, it } from "@effect/vitest"
import { ToolCalls } from "@atropos/core"
import type { Message } from "../../../src/trajectory/Message.ts"
import * as SameMessage from "../../../src/inference/session/SameMessage.ts"

const calling = (json: string): Message => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id: "call_1", type: "function", function: { name: "read_order", arguments: json } }]
})

const call = (json: string) => ToolCalls.callsOf(`<tool_call>{"name": "f", "arguments": ${json}}</tool_call>`)[0]!

const isSame = (a: string, b: string): boolean => SameMessage.isSame(calling(a), calling(b))

describe("calls that a client sends again", () => {
  const same: ReadonlyArray<readonly [string, string]> = [
    ['{"id": 2512292042121000001}', '{"id":2512292042121000001}'],
    ['{"a": 1.0, "b": 1e2}', '{"b": 100, "a": 1}'],
    ['{"a": 100000000000000000000}', '{"a": 1e20}'],
    ['{"10": 1, "2": [true]}', '{"2": [true], "10": 1}']
  ]
  it.each(same)("are the same: %s and %s", (a, b) => assert.isTrue(isSame(a, b)))

  const different: ReadonlyArray<readonly [string, string]> = [
    ['{"id": 2512292042121000001}', '{"id": 2512292042121000002}'],
    ['{"id": 2512292042121000001}', '{"id": 2512292042121000000}'],
    ['{"ids": [9007199254740993]}', '{"ids": [9007199254740992]}'],
    ['{"id": 9007199254740993}', '{"id": 9007199254740992.0}'],
    ['{"id": 1}', '{"id": "1"}']
  ]
  it.each(different)("are not: %s and %s", (a, b) => assert.isFalse(isSame(a, b)))

  it("fulfil what is expected in every digit", () => {
    assert.isTrue(ToolCalls.fulfils(call('{"id": 2512292042121000001}'), call('{"id": 2512292042121000001, "x": 1}')))
    assert.isFalse(ToolCalls.fulfils(call('{"id": 2512292042121000001}'), call('{"id": 2512292042121000002}')))
    assert.strictEqual(
      ToolCalls.writeCall(call('{"id": 2512292042121000001}')),
      '<tool_call>{"name": "f", "arguments": {"id": 2512292042121000001}}</tool_call>'
    )
  })
})
