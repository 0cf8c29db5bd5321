/** Parts of prompts: the same text as in the whole, or none where a template's text depends on what came before. */
import { assert, describe, it } from "@effect/vitest"
import { Option, Result } from "effect"
import { type Message, text as textOf } from "../../../src/trajectory/Message.ts"
import * as ChatPrompt from "../../../src/inference/tokenizer/ChatPrompt.ts"
import * as Tokenizer from "../../../src/inference/tokenizer/Tokenizer.ts"

type Template = Tokenizer.TokenizerShape["applyChatTemplate"]

/** Each is a tokenizer of its own, as what was tried is remembered. */
const withTemplate = (applyChatTemplate: Template): Tokenizer.TokenizerShape => ({
  ...Tokenizer.bytes,
  applyChatTemplate
})

const user = (content: string): Message => ({ role: "user", content })
const assistant = (content: string): Message => ({ role: "assistant", content })
const tool = (content: string, id: string): Message => ({ role: "tool", content, tool_call_id: id })
const options = { tools: [{ name: "look" }], preserveThinkBlocks: true }
const chatml = Tokenizer.bytes.applyChatTemplate

const partOf = (template: Template, messages: ReadonlyArray<Message>, given: Partial<typeof options> = {}) =>
  Option.getOrUndefined(ChatPrompt.part(withTemplate(template), messages, { ...options, ...given }))

/** Refuses results without a call before them, and ends calls in its own way. */
const called: Template = (messages) =>
  messages
    .map((message, index) => {
      const { role, tool_calls: calls, tool_call_id: id = "" } = message
      const content = textOf(message)
      if (role === "tool") {
        const before = messages.slice(0, index).findLast((one) => one.role !== "tool")
        if (before?.tool_calls === undefined) throw new Error("a result without a call")
        return `[RESULT ${id}]${content}[/RESULT]`
      }
      if (calls !== undefined) return `[CALLS]${calls.map((call) => call.function.arguments).join()}<|im_end|>`
      return role === "assistant" ? `${content}<|im_end|>` : `[${role}]${content}[/${role}]`
    })
    .join("")

const refusing: Template = () => {
  throw new Error("none")
}

describe("ChatPrompt.part", () => {
  it("is what the whole prompt has behind the answer", () => {
    for (const fresh of [
      [user("b")],
      [tool("1", "x"), tool("2", "y"), tool("3", "z")],
      [user("b"), assistant("c"), user("d")]
    ]) {
      const before = [user("a"), assistant("yes"), user("more"), assistant("words")]
      const whole = chatml([...before, ...fresh], { addGenerationPrompt: true, tools: options.tools })
      const at = whole.indexOf("words") + "words".length
      assert.strictEqual(partOf(chatml, fresh), whole.slice(at))
    }
  })

  it("leaves a last message of the assistant open", () => {
    assert.strictEqual(
      partOf(chatml, [user("b"), assistant("so ")]),
      "<|im_end|>\n<|im_start|>user\nb<|im_end|>\n<|im_start|>assistant\nso "
    )
  })

  it("is right where a template drops earlier thinking, and none where that is wanted", () => {
    const dropping: Template = (messages, given) => {
      const last = messages.findLastIndex(({ role }) => role === "user")
      const quiet = messages.map((message, index) =>
        message.role === "assistant" && index < last
          ? Object.assign({}, message, { content: textOf(message).replace(/<think>[^]*<\/think>\s*/, "") })
          : message
      )
      return chatml(quiet, given)
    }
    assert.isDefined(partOf(dropping, [user("b")]))
    assert.isUndefined(partOf(dropping, [user("b")], { preserveThinkBlocks: false }))
  })

  it("is none where a template moves the tools to the last question, or counts turns", () => {
    const moving: Template = (messages, { tools = [], ...given }) => {
      const last = messages.findLastIndex(({ role }) => role === "user")
      const moved = messages.map((message, index) =>
        index === last && tools.length > 0 ? user(JSON.stringify(tools) + textOf(message)) : message
      )
      return chatml(moved, given)
    }
    assert.isUndefined(partOf(moving, [user("b")]))
    assert.isDefined(partOf(moving, [user("b")], { tools: [] }))
    const counting: Template = (messages, given) =>
      chatml(
        messages.map((message, index) => Object.assign({}, message, { content: `${index}: ${textOf(message)}` })),
        given
      )
    assert.isUndefined(partOf(counting, [user("b")]))
  })

  it("is none for what a template refuses", () => {
    const strict: Template = (messages, given) => {
      if (messages.some(({ role }) => role === "tool")) throw new Error("no tools here")
      return chatml(messages, given)
    }
    assert.isUndefined(partOf(strict, [tool("1", "x")]))
    assert.isDefined(partOf(strict, [user("b")]))
  })

  it("follows calls that the template is given as calls", () => {
    const message: Message = {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "abcdefgh1", type: "function", function: { name: "look", arguments: '{"a": 1}' } }]
    }
    const tokenizer = withTemplate(called)
    const fresh = [tool("1", "abcdefgh1")]
    assert.isTrue(Option.isNone(ChatPrompt.part(tokenizer, fresh, options)))
    assert.deepStrictEqual(
      Option.getOrUndefined(ChatPrompt.part(tokenizer, fresh, options, { message, end: "<|im_end|>" })),
      "<|im_end|>[RESULT abcdefgh1]1[/RESULT]"
    )
    // An answer that was cut off has no end to go on from.
    assert.isTrue(Option.isNone(ChatPrompt.part(tokenizer, fresh, options, { message, end: "" })))
  })

  it("fails as the whole does where a template takes no chat at all", () => {
    assert.isUndefined(partOf(refusing, [user("b")]))
    assert.isTrue(Result.isFailure(Result.try(() => ChatPrompt.whole(withTemplate(refusing), [user("b")], options))))
  })
})
