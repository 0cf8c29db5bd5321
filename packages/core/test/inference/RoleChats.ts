/** Chats of every order of roles up to a length, with a mark in each message, and what templates make of them. */
import { OutputFormats, TemplateRoles, Tokenizer, ToolCalls } from "@atropos/core"
import * as ChatTemplate from "../../src/inference/tokenizer/ChatTemplate.ts"
import * as TextParts from "../../src/inference/tokenizer/TextParts.ts"
import type { Message } from "../../src/trajectory/Message.ts"

/** A tokenizer of bytes with a chat template. */
export const tokenizerWith = (name: string, source: string): Tokenizer.TokenizerShape => {
  const render = ChatTemplate.make(source)
  const needsParts = TextParts.areNeeded((content) =>
    render({ messages: [{ role: "user", content }], tools: null, add_generation_prompt: true, documents: null })
  )
  return {
    ...Tokenizer.bytes,
    name,
    chatTemplate: () => source,
    applyChatTemplate: (messages, { addGenerationPrompt, tools = null }) =>
      render({
        messages: needsParts ? messages.map(TextParts.of) : messages,
        tools,
        add_generation_prompt: addGenerationPrompt,
        documents: null,
        bos_token: "<bos>",
        eos_token: "<eos>"
      })
  }
}

export const mark = (index: number): string => `mark ${index} here`

const maxLength = 6
const id = "abcdefgh0"

/** System (S), user (U), assistant (A), call with its result (CT): a question first, and an answer may follow. */
const orders = (hasCalls: boolean): ReadonlyArray<string> => {
  const all: Array<string> = []
  const grow = (chat: string): void => {
    if (chat.length > maxLength) return
    if (chat.includes("U") && !chat.endsWith("A")) all.push(chat)
    const steps = ["S", "U", ...(chat.includes("U") && !chat.endsWith("A") ? ["A", ...(hasCalls ? ["CT"] : [])] : [])]
    for (const step of steps) grow(chat + step)
  }
  grow("")
  return all
}

const messageOf = (role: string, index: number): Message => {
  const content = mark(index)
  switch (role) {
    case "S":
      return { role: "system", content }
    case "U":
      return { role: "user", content }
    case "A":
      return { role: "assistant", content }
    case "C":
      return {
        role: "assistant",
        content: null,
        tool_calls: [{ id, type: "function", function: { name: "look", arguments: JSON.stringify({ key: content }) } }]
      }
    default:
      return { role: "tool", content, tool_call_id: id }
  }
}

export const chatOf = (order: string): ReadonlyArray<Message> => order.split("").map(messageOf)

/** Every mark, in order. */
const holds = (order: string, prompt: string): boolean => {
  let from = 0
  return order.split("").every((_, index) => {
    const at = prompt.indexOf(mark(index), from)
    from = at + 1
    return at !== -1
  })
}

export interface Violation {
  readonly order: string
  readonly problem: string
}

/** Chats of which a template's prompt lacks a text, or which it refuses; and those that no longer extend a chat. */
export const violations = (tokenizer: Tokenizer.TokenizerShape): ReadonlyArray<Violation> => {
  const rendered = TemplateRoles.renderedBy(tokenizer, false)
  const translator = ToolCalls.makeTranslator({ format: OutputFormats.of(tokenizer), reasoning: "apart" })
  const prompt = (order: string): string | undefined => {
    const { messages } = TemplateRoles.adapt(chatOf(order), rendered)
    try {
      return tokenizer.applyChatTemplate(translator.toText(messages), { addGenerationPrompt: true })
    } catch {
      return undefined
    }
  }
  const rendersResults = holds("UCT", prompt("UCT") ?? "")
  return orders(rendersResults)
    .filter((order) => rendered.userAfterTool || !/TS*U/.test(order))
    .flatMap((order): ReadonlyArray<Violation> => {
      const text = prompt(order)
      if (text === undefined || !holds(order, text)) {
        return [{ order, problem: text === undefined ? "refused" : "a text is missing" }]
      }
      const shown = TemplateRoles.adapt(chatOf(order), rendered).messages
      const longer = TemplateRoles.adapt(chatOf(`${order}ASU`), rendered).messages
      const isExtended = shown.every((message, at) => JSON.stringify(message) === JSON.stringify(longer[at]))
      return isExtended ? [] : [{ order, problem: "the longer chat does not begin with it" }]
    })
}
