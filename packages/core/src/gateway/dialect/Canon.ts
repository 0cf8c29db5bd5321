/**
 * One form for what dialects say differently: the same chat in any dialect becomes the same messages and tools, and so
 * the same prompt.
 */
import type { ContentPart, Message, ToolCall } from "../../Message.ts"

/** A tool as chat templates write it, in the order of keys that models know. */
export const tool = (options: {
  readonly name: string
  readonly description?: string
  readonly parameters?: unknown
}): unknown => ({
  type: "function",
  function: {
    name: options.name,
    ...(options.description !== undefined && { description: options.description }),
    parameters: options.parameters ?? { type: "object", properties: {} }
  }
})

export const toolCall = (id: string, name: string, argumentsText: string): ToolCall => ({
  id,
  type: "function",
  function: { name, arguments: argumentsText }
})

/** Parts that are words alone are one text; nothing stands between them. */
export const content = (parts: ReadonlyArray<ContentPart>): Message["content"] =>
  parts.every(({ type }) => type === "text") ? parts.map(({ text }) => text ?? "").join("") : parts

/** An assistant's message: content is null only where there are calls instead. */
export const assistant = (said: {
  readonly content: string
  readonly reasoning?: string
  readonly toolCalls: ReadonlyArray<ToolCall>
}): Message => ({
  role: "assistant",
  content: said.content === "" && said.toolCalls.length > 0 ? null : said.content,
  ...(said.reasoning !== undefined && said.reasoning !== "" && { reasoning_content: said.reasoning }),
  ...(said.toolCalls.length > 0 && { tool_calls: said.toolCalls })
})
