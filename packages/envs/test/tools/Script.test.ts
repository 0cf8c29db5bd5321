import { ToolCalls } from "@atropos/core"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as Script from "../../src/tools/Script.ts"

const tool = (name: string, properties: object) => ({
  type: "function",
  function: { name, description: "", parameters: { type: "object", properties } }
})

/** A dialogue of one answer with these calls. */
const scriptOf = (calls: ReadonlyArray<unknown>, tools: unknown) =>
  Result.getOrThrow(
    Script.ofRow(
      [
        { role: "user", content: "Do it." },
        { role: "assistant", content: null, tool_calls: calls }
      ],
      tools
    )
  )

const given = (name: string, json: string): ToolCalls.Call =>
  ToolCalls.callsOf(`<tool_call>{"name": "${name}", "arguments": ${json}}</tool_call>`)[0]!

describe("a dialogue with tools", () => {
  it("takes nulls of a struct that several tools share as absent, in calls and in tools", () => {
    const shared = [
      { function: { name: "read", arguments: { id: 7, city: null, where: { a: 1, b: null } } } },
      { function: { name: "go", arguments: { id: null, city: "Bern", where: null } } }
    ]
    const properties = { id: { type: "integer", enum: null }, city: null }
    const { tools, turns } = scriptOf(shared, [
      tool("read", properties),
      tool("go", { id: null, city: { type: "string" } })
    ])
    const right = [given("go", '{"city": "Bern"}'), given("read", '{"id": 7, "where": {"a": 1}}')]
    assert.isDefined(ToolCalls.pairOneToOne(turns[0].expected, right))
    assert.isUndefined(ToolCalls.pairOneToOne(turns[0].expected, [given("go", '{"city": "Basel"}'), right[1]!]))
    assert.deepStrictEqual(tools[0]?.function.parameters["properties"], { id: { type: "integer" } })
  })

  it("takes arguments that are JSON text as they are, nulls and numbers", () => {
    const { turns } = scriptOf(
      [{ function: { name: "read", arguments: '{"id": 2512292042121000001, "city": null}' } }],
      [tool("read", {})]
    )
    const [expected] = turns[0].expected
    assert.isTrue(ToolCalls.fulfils(expected!, given("read", '{"id": 2512292042121000001, "city": null}')))
    assert.isFalse(ToolCalls.fulfils(expected!, given("read", '{"id": 2512292042121000001}')))
    assert.isFalse(ToolCalls.fulfils(expected!, given("read", '{"id": 2512292042121000002, "city": null}')))
  })

  it("compares numbers by what is written, at any length", () => {
    const price = given("price", '{"id": 7, "at": 0.1}')
    assert.isTrue(ToolCalls.fulfils(price, given("price", '{"id": 7.0, "at": 0.10}')))
    assert.isTrue(ToolCalls.fulfils(price, given("price", '{"id": 7, "at": 1e-1}')))
    assert.isFalse(ToolCalls.fulfils(price, given("price", '{"id": 7, "at": 0.10000000000000001}')))
    assert.isFalse(ToolCalls.fulfils(price, given("price", '{"id": "7", "at": 0.1}')))
    const exact = given("price", '{"at": 0.10000000000000001}')
    assert.isTrue(ToolCalls.fulfils(exact, given("price", '{"at": 0.100000000000000010}')))
    assert.isFalse(ToolCalls.fulfils(exact, given("price", '{"at": 0.1}')))
  })
})
