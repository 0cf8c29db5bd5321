/**
 * A client of each dialect, in as few words as there can be: it sends a chat, reads the answer, and keeps of it what an
 * SDK would: calls by their parsed arguments, words and thinking.
 */
import { Predicate } from "effect"
import type { Message } from "../../src/trajectory/Message.ts"
import { text as textOf } from "../../src/trajectory/Message.ts"

export interface DialectClient {
  /** What follows a session's `/v1`. */
  readonly path: string
  readonly request: (chat: ReadonlyArray<Message>, tools: ReadonlyArray<ToolOfTests>) => unknown
  readonly read: (answer: unknown) => Message
}

export interface ToolOfTests {
  readonly name: string
  readonly description: string
  readonly schema: object
}

const at = (value: unknown, ...keys: ReadonlyArray<string | number>): unknown =>
  keys.reduce<unknown>((inner, key) => (Predicate.hasProperty(inner, key) ? inner[key] : undefined), value)
const text = (value: unknown): string => (typeof value === "string" ? value : "")
const list = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

interface Said {
  readonly thinking: string
  readonly content: string
  readonly calls: ReadonlyArray<{ readonly id: string; readonly name: string; readonly arguments: string }>
}

const message = ({ calls, content, thinking }: Said): Message => ({
  role: "assistant",
  content: content === "" && calls.length > 0 ? null : content,
  ...(thinking !== "" && { reasoning_content: thinking }),
  ...(calls.length > 0 && {
    tool_calls: calls.map(({ arguments: json, id, name }) => ({
      id,
      type: "function",
      function: { name, arguments: JSON.stringify(JSON.parse(json)) }
    }))
  })
})

const callsOf = ({ tool_calls: calls = [] }: Message) =>
  calls.map(({ function: { arguments: json, name }, id = "" }) => ({ id, name, arguments: json }))

const chat: DialectClient = {
  path: "/chat/completions",
  request: (messages, tools) => ({
    model: "any",
    messages,
    tools: tools.map(({ description, name, schema }) => ({
      type: "function",
      function: { name, description, parameters: schema }
    }))
  }),
  read: (answer) => {
    const said = at(answer, "choices", 0, "message")
    return message({
      thinking: text(at(said, "reasoning_content")),
      content: text(at(said, "content")),
      calls: list(at(said, "tool_calls")).map((call) => ({
        id: text(at(call, "id")),
        name: text(at(call, "function", "name")),
        arguments: text(at(call, "function", "arguments"))
      }))
    })
  }
}

const responses: DialectClient = {
  path: "/responses",
  request: (messages, tools) => ({
    model: "any",
    input: messages.flatMap((one): ReadonlyArray<object> => {
      if (one.role === "tool") {
        return [{ type: "function_call_output", call_id: one.tool_call_id, output: one.content }]
      }
      if (one.role !== "assistant") return [{ type: "message", role: one.role, content: one.content }]
      const calls = callsOf(one)
      const thought = one.reasoning_content ?? ""
      return [
        ...(thought === ""
          ? []
          : [{ type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: thought }] }]),
        ...(one.content === null
          ? []
          : [{ type: "message", role: "assistant", content: [{ type: "output_text", text: textOf(one) }] }]),
        ...calls.map(({ id, ...call }) => ({ type: "function_call", call_id: id, ...call }))
      ]
    }),
    tools: tools.map(({ description, name, schema }) => ({ type: "function", name, description, parameters: schema }))
  }),
  read: (answer) => {
    const items = list(at(answer, "output"))
    const of = (type: string) => items.filter((item) => at(item, "type") === type)
    return message({
      thinking: of("reasoning")
        .map((item) => text(at(item, "content", 0, "text")))
        .join(""),
      content: of("message")
        .map((item) => text(at(item, "content", 0, "text")))
        .join(""),
      calls: of("function_call").map((item) => ({
        id: text(at(item, "call_id")),
        name: text(at(item, "name")),
        arguments: text(at(item, "arguments"))
      }))
    })
  }
}

const messages: DialectClient = {
  path: "/messages",
  request: (given, tools) => ({
    model: "any",
    max_tokens: 4096,
    system: given.filter(({ role }) => role === "system").map((one) => ({ type: "text", text: one.content })),
    messages: given.flatMap((one): ReadonlyArray<object> => {
      if (one.role === "system") return []
      if (one.role === "tool") {
        return [
          { role: "user", content: [{ type: "tool_result", tool_use_id: one.tool_call_id, content: one.content }] }
        ]
      }
      if (one.role === "user") return [{ role: "user", content: one.content }]
      const thought = one.reasoning_content ?? ""
      return [
        {
          role: "assistant",
          content: [
            ...(thought === "" ? [] : [{ type: "thinking", thinking: thought, signature: "s" }]),
            ...(textOf(one) === "" ? [] : [{ type: "text", text: one.content }]),
            ...callsOf(one).map(({ arguments: json, id, name }) => ({
              type: "tool_use",
              id,
              name,
              input: JSON.parse(json)
            }))
          ]
        }
      ]
    }),
    tools: tools.map(({ description, name, schema }) => ({ name, description, input_schema: schema }))
  }),
  read: (answer) => {
    const blocks = list(at(answer, "content"))
    const of = (type: string) => blocks.filter((block) => at(block, "type") === type)
    return message({
      thinking: of("thinking")
        .map((block) => text(at(block, "thinking")))
        .join(""),
      content: of("text")
        .map((block) => text(at(block, "text")))
        .join(""),
      calls: of("tool_use").map((block) => ({
        id: text(at(block, "id")),
        name: text(at(block, "name")),
        arguments: JSON.stringify(at(block, "input"))
      }))
    })
  }
}

export const all: ReadonlyArray<DialectClient> = [chat, responses, messages]
