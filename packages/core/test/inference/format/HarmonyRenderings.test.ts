/**
 * Answers of gpt-oss as OpenAI's own package writes them (openai-harmony 0.0.8, `render_conversation`, the prompt cut
 * off): the one whose name stands in the header, where models put it, and not in the channel. It reads ours the same.
 */
import { assert, describe, it } from "@effect/vitest"
import { type Message, OutputFormats } from "@atropos/core"

const harmony = OutputFormats.byName("harmony")

const thought = "<|channel|>analysis<|message|>Hm. Look it up.<|end|>"
const said = "<|start|>assistant<|channel|>commentary<|message|>Let me look.<|end|>"
const inHeader =
  '<|start|>assistant to=functions.get<|channel|>commentary <|constrain|>json<|message|>{"city": "Bern"}<|call|>'
const inChannel =
  '<|start|>assistant<|channel|>commentary to=functions.get <|constrain|>json<|message|>{"city": "Bern"}<|call|>'

const call = { function: { name: "get", arguments: '{"city": "Bern"}' } }
const asked = { role: "assistant", reasoning_content: "Hm. Look it up.", tool_calls: [call] }

const renderings: ReadonlyArray<readonly [text: string, message: Message.Message]> = [
  [thought + inHeader, { ...asked, content: null }],
  [thought + said + inHeader, { ...asked, content: "Let me look." }],
  [thought + said + inChannel, { ...asked, content: "Let me look." }],
  [inHeader.slice("<|start|>assistant".length), { role: "assistant", content: null, tool_calls: [call] }],
  ["<|channel|>final<|message|>It is cold.<|return|>", { role: "assistant", content: "It is cold." }],
  [
    `${thought}<|start|>assistant<|channel|>final<|message|>It is cold.<|end|>`,
    { role: "assistant", reasoning_content: "Hm. Look it up.", content: "It is cold." }
  ]
]

describe("what openai-harmony writes", () => {
  for (const [text, message] of renderings) {
    it(`is read: ${text.slice(-70)}`, () => {
      const { calls, content, reasoning } = harmony.read(text)
      assert.strictEqual(content, message.content)
      assert.strictEqual(reasoning, message.reasoning_content)
      assert.deepStrictEqual(
        calls.map(({ json, name }): Message.ToolCall => ({ function: { name, arguments: json } })),
        message.tool_calls?.slice() ?? []
      )
    })
  }

  it("is what we write, but for the place of the name and the mark of the end", () => {
    for (const [text, message] of renderings) {
      const theirs = text.replace(inHeader, inChannel).replace(/<\|(?:end|call|return)\|>$/, "")
      const head = text.startsWith(" to=") ? inChannel.slice("<|start|>assistant".length, -"<|call|>".length) : theirs
      assert.strictEqual(harmony.write(message), head)
    }
  })
})
