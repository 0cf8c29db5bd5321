/**
 * Answers with calls, as vLLM's own parsers read them (fixtures/vllm-calls.json: text, content, and each call's name
 * and arguments).
 *
 * Where the two differ we read more: Phi's lists with a bracket in a text or a list, Python's calls over several lines,
 * Gemma's lists of numbers, and calls of tools that a request does not have, which are for the environment to judge.
 */
import { assert, describe, it } from "@effect/vitest"
import { OutputFormats } from "@atropos/core"
import { Schema } from "effect"
import recorded from "../../fixtures/vllm-calls.json" with { type: "json" }
import * as ExactJson from "../../../src/base/ExactJson.ts"

const Case = Schema.Tuple([
  Schema.String,
  Schema.NullOr(Schema.String),
  Schema.Array(Schema.Tuple([Schema.String, Schema.String]))
])
const names = ["kimi-k2", "minimax-m2", "deepseek-v32", "gemma4", "llama4-pythonic", "phi4"] as const
const Cases = Schema.Struct(Object.fromEntries(names.map((name) => [name, Schema.Array(Case)])))
const cases = Schema.decodeUnknownSync(Cases)(recorded.cases)

const read = (name: (typeof names)[number], text: string, finishReason: "stop" | "length") =>
  OutputFormats.byName(name).read(text, { tools: recorded.tools, finishReason })

describe("calls", () => {
  for (const name of names) {
    it(`of ${name} are read as vLLM reads them`, () => {
      for (const [text, content, calls] of cases[name] ?? []) {
        const reading = read(name, text, "stop")
        assert.strictEqual((reading.content ?? "").trim(), content ?? "", text)
        assert.deepStrictEqual(
          reading.calls.map((call) => [call.name, ExactJson.parse(call.json)]),
          calls.map(([called, json]) => [called, ExactJson.parse(json)]),
          text
        )
      }
    })
  }

  it("that the length limit cut off are not read", () => {
    const open = {
      "kimi-k2":
        '<|tool_calls_section_begin|><|tool_call_begin|>functions.get:0<|tool_call_argument_begin|>{"city":"Bern"}<|tool_call_end|>',
      "minimax-m2": '<minimax:tool_call>\n<invoke name="get">\n<parameter name="city">Bern</parameter>\n</invoke>',
      gemma4: '<|tool_call>call:get{city:<|"|>Bern<|"|>}'
    } as const
    for (const name of ["kimi-k2", "minimax-m2", "gemma4"] as const) {
      assert.lengthOf(read(name, open[name], "stop").calls, 1, name)
      assert.lengthOf(read(name, open[name], "length").calls, 0, name)
    }
  })
})
