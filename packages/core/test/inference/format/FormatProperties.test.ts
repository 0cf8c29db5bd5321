import { assert, describe, it } from "@effect/vitest"
import { type Message, OutputFormat, OutputFormats } from "@atropos/core"
import { Schema } from "effect"
import * as Growth from "../../base/Growth.ts"
import { marks } from "./marks.ts"

/** Each way of writing that a family has. */
const formats: { readonly [way: string]: OutputFormat.OutputFormat } = {
  ...Object.fromEntries(OutputFormat.FormatName.literals.map((name) => [name, OutputFormats.byName(name)])),
  "mistral, as a list": OutputFormats.byName("mistral", "[TOOL_CALLS]"),
  "deepseek, V3.1": OutputFormats.byName("deepseek", "<｜tool▁calls▁begin｜>"),
  "glm, tight": OutputFormats.byName("glm", "</arg_key><arg_value>")
}

const Name = Schema.String.check(Schema.isPattern(/^[a-z_][a-z0-9_]{0,12}$/))
const Call = Schema.Struct({ name: Name, arguments: Schema.Record(Name, Schema.Json) })
const Answer = Schema.Struct({
  reasoning: Schema.String,
  content: Schema.String,
  calls: Schema.Array(Call).check(Schema.isMaxLength(3))
})
type Answer = typeof Answer.Type

/** As JSON has it: without a sign of zero. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const typeOf = (value: unknown): string => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value)

/** Tools whose schemas say what each argument is, as formats without types need it. */
const toolsOf = (calls: Answer["calls"]) =>
  calls.map(({ arguments: given, name }) => ({
    type: "function",
    function: {
      name,
      parameters: {
        type: "object",
        properties: Object.fromEntries(Object.entries(given).map(([key, value]) => [key, { type: typeOf(value) }]))
      }
    }
  }))

const messageOf = ({ calls, content, reasoning }: Answer): Message.Message => ({
  role: "assistant",
  content,
  reasoning_content: reasoning,
  tool_calls: calls.map(({ arguments: value, name }) => ({ function: { name, arguments: JSON.stringify(value) } }))
})

describe("write, then read", () => {
  for (const [way, format] of Object.entries(formats)) {
    it.prop(`gives back calls, text and thinking: ${way}`, [Answer], ([answer]) => {
      // One call of a name: a name has one schema.
      const names = new Set(answer.calls.map(({ name }) => name))
      const isMarked = marks.some((mark) => mark.length > 3 && JSON.stringify(answer).includes(mark))
      if (names.size < answer.calls.length || isMarked || answer.content === " ") return
      for (const prompt of ["", "<think>\n", "<think>", "[THINK]"]) {
        const written = format.write(messageOf(answer), { prompt })
        const read = format.read(written, { tools: toolsOf(answer.calls), prompt })
        assert.deepStrictEqual(
          {
            reasoning: read.reasoning ?? "",
            content: read.content ?? "",
            calls: read.calls.map(({ json, name }) => ({ name, arguments: JSON.parse(json) as unknown }))
          },
          { ...answer, calls: plain(answer.calls) },
          written
        )
        assert.deepStrictEqual(
          plain(read.calls.map((call) => call.arguments)),
          plain(answer.calls.map((call) => call.arguments))
        )
      }
    })

    it.prop(`leaves text without marks alone: ${way}`, [Schema.String], ([text]) => {
      if (marks.some((mark) => mark.length > 3 && text.includes(mark))) return
      assert.deepStrictEqual(format.read(text), { content: text, calls: [], beforeCalls: text })
    })

    const Marks = Schema.Array(Schema.Union([Schema.Literals(marks), Schema.String]))
    it.prop(`reads any text: ${way}`, [Marks, Schema.Json], ([parts, json]) => {
      const text = parts.join("")
      for (const prompt of [undefined, text]) {
        const tools = [json, { function: json }, { function: { name: "a", parameters: { properties: { a: json } } } }]
        const read = format.read(text, { tools, ...(prompt !== undefined && { prompt }) })
        assert.isTrue(text.startsWith(read.beforeCalls))
        for (const call of read.calls) assert.deepStrictEqual(JSON.parse(call.json), call.arguments)
      }
    })
  }
})

const nested = (levels: number) => `{"a": ${"[".repeat(levels)}${"]".repeat(levels)}}`

describe("text that a model goes on repeating", () => {
  const size = 60_000
  const pumped = [
    ...marks,
    "<tool_call>\n",
    "<tool_call>a\n",
    "<arg_key>a</arg_key><arg_value>",
    "</parameter>\n",
    "</arg_value>\n"
  ]
    .map((mark) => (size: number) => mark.repeat(Math.ceil(size / mark.length)))
    .flatMap((text) => [
      text,
      (size: number) => `${text(size)}!`,
      ...["<tool_call>", "<tool_call><function=a><parameter=a>", "<tool_call>a<arg_key>a</arg_key><arg_value>"].map(
        (one) => (size: number) => one + text(size)
      ),
      ...["[TOOL_CALLS]", "[TOOL_CALLS]a[ARGS]", "<|python_tag|>", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>"].map(
        (one) => (size: number) => one + text(size)
      ),
      (size: number) => `<|channel|>commentary to=a<|message|>${text(size)}`,
      (size: number) => `<think>${text(size)}`
    ])
  for (const [way, format] of Object.entries(formats)) {
    it(`is read in linear time: ${way}`, () => {
      const reading = (text: string) => () => format.read(text)
      const slow = pumped.filter((text) => !Growth.isLinear(size, (size) => reading(text(size))))
      assert.deepStrictEqual(
        slow.map((text) => text(60)),
        []
      )
    })
  }

  it("is no call where it is nested deeper than recursion goes", () => {
    for (const [way, format] of Object.entries(formats)) {
      const written = format.write({
        role: "assistant",
        content: null,
        tool_calls: [{ function: { name: "f", arguments: "{}" } }]
      })
      if (!written.includes("{}")) continue
      assert.lengthOf(format.read(written.replace("{}", nested(20))).calls, 1, way)
      assert.lengthOf(format.read(written.replace("{}", nested(50_000))).calls, 0, way)
    }
  })
})
