/**
 * The items of an answer: its reasoning, text and calls, in this order.
 *
 * An answer without calls has a message even if it is empty, so that a message is sent back.
 */
import { type Message, type ToolCall, text as textOf } from "../../../trajectory/Message.ts"
import * as ResponsesIds from "./Ids.ts"
import * as ResponsesReasoning from "./Reasoning.ts"
import * as ResponsesTools from "./Tools.ts"

export type Status = "in_progress" | "completed" | "incomplete"

export interface ReasoningItem {
  readonly id: string
  readonly type: "reasoning"
  readonly summary: ReadonlyArray<{ readonly type: "summary_text"; readonly text: string }>
  readonly content: ReadonlyArray<{ readonly type: "reasoning_text"; readonly text: string }>
  readonly encrypted_content?: string
  readonly status: Status
}

export interface TextPart {
  readonly type: "output_text"
  readonly text: string
  readonly annotations: ReadonlyArray<never>
  readonly logprobs: ReadonlyArray<never>
}

export interface MessageItem {
  readonly id: string
  readonly type: "message"
  readonly role: "assistant"
  readonly status: Status
  readonly content: ReadonlyArray<TextPart>
}

export interface CallItem {
  readonly id: string
  readonly type: "function_call"
  readonly call_id: string
  readonly name: string
  readonly namespace?: string
  readonly arguments: string
  readonly status: Status
}

/** A call of a tool of free text. */
export interface CustomCallItem {
  readonly id: string
  readonly type: "custom_tool_call"
  readonly call_id: string
  readonly name: string
  readonly namespace?: string
  readonly input: string
  readonly status: Status
}

export type Item = ReasoningItem | MessageItem | CallItem | CustomCallItem

export interface Options {
  readonly answer: string
  readonly message: Message
  /** True if the answer was truncated within its last item. */
  readonly isCut: boolean
  readonly isSummarized: boolean
  readonly isSealed: boolean
  readonly names: ResponsesTools.Names
}

export const textPart = (text: string): TextPart => ({ type: "output_text", text, annotations: [], logprobs: [] })

/** The message with an id for each call, to which outputs refer. */
export const withCallIds = (answer: string, message: Message): Message => {
  const { tool_calls: calls } = message
  if (calls === undefined || calls.every(({ id }) => id !== undefined)) return message
  return Object.assign({}, message, {
    tool_calls: calls.map((call, at) => ({ ...call, id: callId(answer, call, at) }))
  })
}

const callId = (answer: string, { id }: ToolCall, at: number): string => id ?? `call_${answer}_${at}`

export const make = ({ answer, isCut, isSealed, isSummarized, message, names }: Options): ReadonlyArray<Item> => {
  const { reasoning_content: reasoning, tool_calls: calls = [] } = message
  const text = textOf(message)
  const id = (kind: ResponsesIds.Kind, ordinal: number): string => ResponsesIds.item({ answer, kind, ordinal })
  const items: ReadonlyArray<Item> = [
    ...(typeof reasoning === "string" && reasoning !== ""
      ? [
          {
            id: id("reasoning", 0),
            type: "reasoning" as const,
            summary: isSummarized ? [{ type: "summary_text" as const, text: reasoning }] : [],
            content: [{ type: "reasoning_text" as const, text: reasoning }],
            ...(isSealed && { encrypted_content: ResponsesReasoning.seal(reasoning) }),
            status: "completed" as const
          }
        ]
      : []),
    ...(text !== "" || calls.length === 0
      ? [
          {
            id: id("message", 0),
            type: "message" as const,
            role: "assistant" as const,
            status: "completed" as const,
            content: [textPart(text)]
          }
        ]
      : []),
    ...calls.map((call, at) => {
      const { arguments: text, name: visible } = call.function
      const { isCustom = false, ...named } = names.get(visible) ?? { name: visible }
      const common = { id: id("call", at), call_id: callId(answer, call, at), ...named, status: "completed" as const }
      return isCustom
        ? ({ ...common, type: "custom_tool_call", input: ResponsesTools.customInput(text) } satisfies CustomCallItem)
        : ({ ...common, type: "function_call", arguments: text } satisfies CallItem)
    })
  ]
  return isCut ? items.map((item, at) => (at === items.length - 1 ? { ...item, status: "incomplete" } : item)) : items
}
