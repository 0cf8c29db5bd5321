/**
 * Parses a chat message for display. Roles, keys and parts may come from third parties: unknown ones are shown as JSON.
 */
import * as Predicate from "effect/Predicate"
import { type Image, imageOf } from "./Image.ts"
import { type Segment, split } from "./Segments.ts"

/** A tool call of the model. `input` is its arguments, parsed if valid JSON, otherwise as text. */
export interface ToolCall {
  readonly id: string | null
  readonly name: string
  readonly input: unknown
}

export type Part =
  | Segment
  | { readonly kind: "image"; readonly image: Image }
  | { readonly kind: "json"; readonly title: string; readonly value: unknown }

export interface Message {
  readonly role: string
  /** Name of the speaker or of the tool. */
  readonly name: string | null
  /** The call answered by a tool message. */
  readonly callId: string | null
  readonly reward: number | null
  readonly parts: ReadonlyArray<Part>
  readonly toolCalls: ReadonlyArray<ToolCall>
  readonly raw: unknown
}

type Fields = { readonly [key: string]: unknown }

export const read = (raw: unknown): Message => {
  const message: Fields = Predicate.isReadonlyObject(raw) ? raw : { content: raw }
  const reasoning = message["reasoning_content"] ?? message["reasoning"]
  const role = string(message["role"]) ?? "unknown"
  return {
    role,
    name: string(message["name"]),
    callId: string(message["tool_call_id"]),
    reward: typeof message["reward"] === "number" ? message["reward"] : null,
    parts: [
      ...(typeof reasoning === "string" && reasoning.trim() !== ""
        ? [{ kind: "reasoning" as const, text: reasoning, isOpen: false }]
        : []),
      ...partsOf(message["content"], role)
    ],
    toolCalls: (Array.isArray(message["tool_calls"]) ? message["tool_calls"] : []).map(toolCallOf),
    raw
  }
}

const partsOf = (content: unknown, role: string): ReadonlyArray<Part> => {
  if (content === null || content === undefined || content === "") return []
  // Tags are only parsed in a model's answers: a prompt that explains them must stay unchanged.
  if (typeof content === "string") return role === "assistant" ? split(content) : splitResults(content, role)
  if (Array.isArray(content)) return content.flatMap((part) => partOf(part, role))
  return [{ kind: "json", title: "content", value: content }]
}

const partOf = (part: unknown, role: string): ReadonlyArray<Part> => {
  if (typeof part === "string") return partsOf(part, role)
  if (!Predicate.isReadonlyObject(part)) return [{ kind: "json", title: "part", value: part }]
  const type = string(part["type"]) ?? "part"
  if (typeof part["text"] === "string" && (type === "text" || type.endsWith("_text")))
    return partsOf(part["text"], role)
  if (type === "thinking" || type === "reasoning") {
    const text = string(part["thinking"]) ?? string(part["reasoning"]) ?? string(part["text"])
    if (text !== null) return [{ kind: "reasoning", text, isOpen: false }]
  }
  if (type.includes("image")) {
    const image = imageOf(part)
    if (image !== null) return [{ kind: "image", image }]
  }
  return [{ kind: "json", title: type, value: part }]
}

/** Tool results may be tagged text, in messages of role `tool` or `user`. */
const splitResults = (content: string, role: string): ReadonlyArray<Part> =>
  role === "system" ? [{ kind: "text", text: content }] : split(content, ["tool_response"])

const toolCallOf = (value: unknown): ToolCall => {
  const call = Predicate.isReadonlyObject(value) ? value : {}
  const target = Predicate.isReadonlyObject(call["function"]) ? call["function"] : call
  const input = target["arguments"] ?? target["input"] ?? (Predicate.isReadonlyObject(value) ? null : value)
  return {
    id: string(call["id"]),
    name: string(target["name"]) ?? "unnamed",
    input: typeof input === "string" ? parsed(input) : input
  }
}

/** The parsed JSON, otherwise the text. */
export const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

const string = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null)
