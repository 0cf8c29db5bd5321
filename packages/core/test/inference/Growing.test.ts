/** What is told of an answer while it is sampled is the beginning of what it comes to, and no call is told as words. */
import { assert, describe, it } from "@effect/vitest"
import { OutputFormat, OutputFormats } from "@atropos/core"
import { Schema } from "effect"
import * as Growing from "../../src/inference/sequences/Growing.ts"
import { marks } from "./format/marks.ts"

const formats: ReadonlyArray<OutputFormat.OutputFormat> = OutputFormat.FormatName.literals.map((name) =>
  OutputFormats.byName(name)
)

const pieces = [...marks, "<|im_end|>", "</s>", "STOP", "ST", "word ", "Let me see.", "\n\n", "\u{1f600}"]
const Text = Schema.Array(Schema.Literals(pieces)).check(Schema.isMaxLength(12))
const prompts = ["", "<think>\n", "[THINK]"]

/** What is told of a text that comes letter by letter. */
const told = (format: OutputFormat.OutputFormat, text: string, context: OutputFormat.ReadContext, stop?: string) => {
  const said = { content: "", reasoning: "" }
  const hear = Growing.make({
    format,
    context,
    decode: (ids) => String.fromCharCode(...ids),
    stops: stop === undefined ? [] : [stop],
    onDelta: ({ content = "", reasoning = "" }) => {
      said.content += content
      said.reasoning += reasoning
    }
  })
  for (let at = 0; at < text.length; at++) hear?.([text.charCodeAt(at)])
  return said
}

describe("words told while they are sampled", () => {
  for (const format of formats) {
    it.prop(`are the beginning of the answer, whatever is written: ${format.name}`, [Text], ([parts]) => {
      const text = parts.join("")
      for (const prompt of prompts) {
        for (const areCalled of [true, false]) {
          for (const stop of [undefined, "STOP"]) {
            const said = told(format, text, { prompt, areCalled }, stop)
            const at = stop === undefined ? -1 : text.indexOf(stop)
            for (const finishReason of ["stop", "length"]) {
              const whole = at === -1 ? text : text.slice(0, at)
              const read = format.read(whole, { prompt, areCalled, finishReason })
              assert.isTrue((read.content ?? "").startsWith(said.content), JSON.stringify({ text, said, read }))
              assert.isTrue((read.reasoning ?? "").startsWith(said.reasoning), JSON.stringify({ text, said, read }))
            }
          }
        }
      }
    })
  }

  it("are all of them, where nothing is called and no mark begins", () => {
    for (const format of formats.filter((one) => one.marks !== undefined)) {
      const text = "Two and two are four, 1 < 2 and so on.\nThat is it."
      assert.deepStrictEqual(told(format, text, { prompt: "" }), { content: text, reasoning: "" })
    }
  })

  it("leave out a call from its first letter on, and tell thinking apart", () => {
    const format = OutputFormats.byName("hermes")
    const text = '<think>\nHm.\n</think>\n\nLet me see.\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    for (let length = 0; length <= text.length; length++) {
      const said = told(format, text.slice(0, length), { prompt: "" })
      assert.isTrue("Let me see.".startsWith(said.content), said.content)
      assert.isTrue("Hm.".startsWith(said.reasoning), said.reasoning)
    }
    assert.deepStrictEqual(told(format, text, { prompt: "" }), { content: "Let me see.", reasoning: "Hm." })
  })
})
