/**
 * Normalizes what dialects express differently: the same chat in any dialect becomes the same messages and tools, and
 * so the same prompt.
 */
import type { ContentPart, Message, ToolCall } from "../../trajectory/Message.ts"

/** A tool in the form of chat templates, with the keys in the order that models know. */
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

/** Joins text-only parts, without a separator. */
export const content = (parts: ReadonlyArray<ContentPart>): Message["content"] =>
  parts.every(({ type }) => type === "text") ? parts.map(({ text }) => text ?? "").join("") : parts

/** An assistant's message: content is null only if there are calls instead. */
export const assistant = (answer: {
  readonly content: string
  readonly reasoning?: string
  readonly toolCalls: ReadonlyArray<ToolCall>
}): Message => ({
  role: "assistant",
  content: answer.content === "" && answer.toolCalls.length > 0 ? null : answer.content,
  ...(answer.reasoning !== undefined && answer.reasoning !== "" && { reasoning_content: answer.reasoning }),
  ...(answer.toolCalls.length > 0 && { tool_calls: answer.toolCalls })
})
