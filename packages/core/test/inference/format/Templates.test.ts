import { assert, describe, it } from "@effect/vitest"
import { Message, OutputFormats, Tokenizer } from "@atropos/core"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

/** What real chat templates make of calls (scripts/make-format-fixtures.py). */
const { models, tools } = JSON.parse(
  readFileSync(fileURLToPath(new URL("../../fixtures/formats.json", import.meta.url)), "utf8")
) as {
  readonly tools: ReadonlyArray<unknown>
  readonly models: ReadonlyArray<{
    readonly model: string
    readonly marks: ReadonlyArray<string>
    readonly renderings: ReadonlyArray<{
      readonly content: string
      readonly reasoning: string | null
      readonly arguments: ReadonlyArray<unknown>
      readonly prompt: string
      readonly answer: string
    }>
  }>
}

const expected: { readonly [model: string]: string } = {
  "NousResearch/Hermes-2-Pro-Llama-3-8B": "hermes",
  "Qwen/Qwen2.5-7B-Instruct": "hermes",
  "Qwen/Qwen3-0.6B": "hermes",
  "Qwen/Qwen3.5-4B": "qwen3-coder",
  "deepseek-ai/DeepSeek-R1": "deepseek",
  "meta-llama/Llama-3.1-8B-Instruct": "llama3-json",
  "mistralai/Mistral-7B-Instruct-v0.3": "mistral",
  "mistralai/Mistral-Nemo-Instruct-2407": "mistral",
  "zai-org/GLM-5.1": "glm"
}

/** A template that holds these marks, as far as formats look at it. */
const formatOf = (marks: ReadonlyArray<string>) => OutputFormats.of({ chatTemplate: () => marks.join("\n") })

const vocabulary =
  (...tokens: ReadonlyArray<string>) =>
  () =>
    new Map(tokens.map((token, id) => [token, id]))

describe("formats of real chat templates", () => {
  it("are told by the marks that the templates hold", () => {
    assert.deepStrictEqual(
      Object.fromEntries(models.map(({ marks, model }) => [model, formatOf(marks).name])),
      expected
    )
  })

  for (const { marks, model, renderings } of models) {
    it(`read back what ${model} writes`, () => {
      const format = formatOf(marks)
      assert.isAbove(renderings.length, 1)
      for (const { answer, arguments: all, content, prompt, reasoning } of renderings) {
        // This template leaves out the tags of all calls but the first.
        if (model.includes("Hermes-2") && all.length > 1) continue
        const read = format.read(answer.replace(/\n$/, ""), { tools, prompt })
        assert.deepStrictEqual(
          read.calls.map(({ arguments: value, name }) => ({ name, value })),
          all.map((value) => ({ name: "search", value })),
          answer
        )
        // Some templates leave out text and thinking before calls.
        assert.strictEqual(read.content, content !== "" && answer.includes(content) ? content : null, answer)
        assert.strictEqual(read.reasoning, reasoning !== null && answer.includes(reasoning) ? reasoning : undefined)
      }
    })

    it(`write calls as ${model} does`, () => {
      const format = formatOf(marks)
      for (const { answer, arguments: all, content, prompt, reasoning } of renderings) {
        // These templates write ids too, other blanks, or nothing of thinking and text.
        if (format.name === "mistral" || model.includes("Hermes-2")) continue
        const written = format.write(
          {
            role: "assistant",
            content: answer.includes(content) ? content : null,
            reasoning_content: reasoning !== null && answer.includes(reasoning) ? reasoning : null,
            tool_calls: all.map((value) => ({ function: { name: "search", arguments: JSON.stringify(value) } }))
          },
          { prompt }
        )
        const end = /(<\|im_end\|>\n|<｜end▁of▁sentence｜>|<\|eot_id\|>)?$/.exec(answer)?.index
        // A template that opens no thinking itself writes empty thinking too.
        assert.strictEqual(written, answer.slice(0, end).replace(/^<think>\n\n<\/think>\n\n/, ""))
      }
    })
  }

  it("are Hermes where nothing says otherwise, what the setting says where there is one, or what the vocabulary holds", () => {
    assert.strictEqual(OutputFormats.of({}).name, "hermes")
    assert.strictEqual(OutputFormats.of(Tokenizer.bytes).name, "hermes")
    assert.strictEqual(OutputFormats.of(Tokenizer.bytes, "glm").name, "glm")
    assert.strictEqual(OutputFormats.of({ chatTemplate: () => "{{ messages }}" }).name, "hermes")
    assert.strictEqual(OutputFormats.of({ vocabulary: vocabulary("a", "[TOOL_CALLS]") }).name, "mistral")
    assert.strictEqual(OutputFormats.of({ vocabulary: vocabulary("<|channel|>") }).name, "harmony")
    assert.strictEqual(OutputFormats.of({ vocabulary: vocabulary("<tool_call>") }).name, "hermes")
  })
})

const call = (id: string) => ({ id, type: "function", function: { name: "f", arguments: "{}" } })

describe("forTemplate", () => {
  const chat: ReadonlyArray<Message.Message> = [
    Message.user("hi"),
    { role: "assistant", content: "Well.", reasoning_content: "Hm.", tool_calls: [call("call_1"), call("abcdefgh2")] },
    { role: "tool", content: "two", tool_call_id: "abcdefgh2" },
    { role: "tool", content: "one", tool_call_id: "call_1" },
    Message.assistant("Done.")
  ]

  it("gives Mistral's templates ids of nine letters and digits, the same for a call and its result", () => {
    const [, asked, second, first] = OutputFormats.byName("mistral").forTemplate(chat)
    assert.deepStrictEqual(
      asked?.tool_calls?.map(({ id }) => id),
      [first?.tool_call_id, second?.tool_call_id]
    )
    assert.match(first?.tool_call_id ?? "", /^[a-z0-9]{9}$/)
    assert.strictEqual(second?.tool_call_id, "abcdefgh2")
  })

  it("gives gpt-oss's template one call at a time with its result, and thinking under its own key", () => {
    assert.deepStrictEqual(OutputFormats.byName("harmony").forTemplate(chat), [
      chat[0]!,
      { role: "assistant", content: "", thinking: "Hm.\n\nWell.", tool_calls: [call("call_1")] },
      chat[3]!,
      { role: "assistant", content: "", tool_calls: [call("abcdefgh2")] },
      chat[2]!,
      chat[4]!
    ])
  })
})
