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
import * as ExactJson from "../../../src/base/json/ExactJson.ts"

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

  it("may be closed by the end of the answer, where vLLM's parser says so", () => {
    const hermes = '<tool_call>\n{"name": "get", "arguments": {"city": "Bern"}}'
    const qwen = "<tool_call>\n<function=get>\n<parameter=city>\nBern"
    const open = [
      ["hermes", hermes],
      ["hermes", `${hermes}\n`],
      ["hermes", `${hermes}<|im_end|>`],
      ["hermes", `${hermes}\n</tool_call>\n${hermes}`],
      ["qwen3-coder", qwen],
      ["qwen3-coder", `${qwen}\n</parameter>`],
      ["qwen3-coder", `${qwen}\n</parameter>\n</function>`],
      ["qwen3-coder", `${qwen}\n</parameter>\n</function><|im_end|>`]
    ] as const
    for (const [name, text] of open) {
      const calls = (finishReason: "stop" | "length") =>
        OutputFormats.byName(name).read(text, { tools: recorded.tools, finishReason }).calls
      assert.deepStrictEqual(calls("stop").at(-1)?.arguments, { city: "Bern" }, text)
      // Only an answer's own end closes a call, not that of its tokens.
      assert.lengthOf(text.includes("<|im_end|>") ? [] : calls("length"), 0, text)
    }
    const invalid = [
      ["hermes", '<tool_call>\n{"name": "get", "arguments": {"city": "Bern"'],
      ["hermes", `${hermes} and so on`],
      ["qwen3-coder", "<tool_call>\n<function=get>\n<parameter=ci"],
      ["qwen3-coder", `${qwen}\n</parameter> and so on`],
      // A call of GLM needs its last tag.
      ["glm", "<tool_call>get\n<arg_key>city</arg_key>\n<arg_value>Bern</arg_value>"]
    ] as const
    for (const [name, text] of invalid) {
      assert.deepStrictEqual(OutputFormats.byName(name).read(text, { finishReason: "stop" }).calls, [], text)
    }
  })

  it("of qwen3-coder need no outer tag, as in vLLM's parser", () => {
    const call = "<function=get>\n<parameter=city>\nBern\n</parameter>\n</function>"
    for (const text of [call, `${call}\n</tool_call>`, `Sure.${call}`, `${call}\n${call.replace("Bern", "Rome")}`]) {
      const { calls, content } = OutputFormats.byName("qwen3-coder").read(text, { tools: recorded.tools })
      const cities = [...text.matchAll(/Bern|Rome/g)].map(([city]) => ({ city }))
      assert.deepStrictEqual(
        calls.map((one) => one.arguments),
        cities,
        text
      )
      assert.strictEqual(content, text.startsWith("Sure.") ? "Sure." : null, text)
    }
  })

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
