/**
 * Writes an answer as an Anthropic message: content blocks in the order reasoning, text, tool calls, and why it ended.
 *
 * Reasoning has a signature, so that clients send it back with the next request. An empty answer has no blocks. Cache
 * counts are zero, because nothing is cached.
 */
import type { Choice } from "../../../inference/wire/Inference.ts"
import type { Head } from "../Dialect.ts"
import * as MessagesInput from "./Input.ts"

export interface TextBlock {
  readonly type: "text"
  readonly text: string
  readonly citations: null
}

export interface ThinkingBlock {
  readonly type: "thinking"
  readonly thinking: string
  readonly signature: string
}

export interface ToolUseBlock {
  readonly type: "tool_use"
  readonly id: string
  readonly name: string
  readonly input: unknown
  readonly caller: { readonly type: "direct" }
}

export type ContentBlock = TextBlock | ThinkingBlock | ToolUseBlock

/** A block and, for a call, its input as JSON, for streaming. */
export interface Written {
  readonly block: ContentBlock
  readonly json?: string
}

export interface Ended {
  readonly stop_reason: string
  readonly stop_sequence: string | null
}

export const textBlock = (text: string): TextBlock => ({ type: "text", text, citations: null })

export const thinkingBlock = (thinking: string, id: string): ThinkingBlock => ({
  type: "thinking",
  thinking,
  signature: `sig_${id}`
})

/** The blocks of an answer; `id` is used for calls of servers that do not number them. */
export const blocks = ({ message }: Choice, id: string): ReadonlyArray<Written> => {
  const { content, reasoning_content: thinking, tool_calls: calls = [] } = message
  const text = typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join("")
  return [
    ...(typeof thinking === "string" && thinking !== "" ? [{ block: thinkingBlock(thinking, id) }] : []),
    ...(text === "" ? [] : [{ block: textBlock(text) }]),
    ...calls.map(({ function: { arguments: json, name }, id: own }, index) => ({
      block: {
        type: "tool_use",
        id: own ?? `toolu_${id}_${index}`,
        name,
        input: MessagesInput.read(json),
        caller: { type: "direct" }
      } satisfies ToolUseBlock,
      json: MessagesInput.streamed(json)
    }))
  ]
}

const reasons: ReadonlyMap<string, string> = new Map([
  ["length", "max_tokens"],
  ["tool_calls", "tool_use"],
  ["content_filter", "refusal"]
])

/** Why an answer ended, and at which of the request's stop sequences. */
export const ended = ({ finishReason, stop, text, toolCalls }: Choice, stops: ReadonlyArray<string>): Ended => {
  const reason = reasons.get(finishReason) ?? (toolCalls.length > 0 ? "tool_use" : "end_turn")
  // Some servers leave the stop sequence in the text instead of reporting it.
  const matched = reason === "end_turn" ? (stop ?? stops.find((one) => text.endsWith(one))) : undefined
  return matched === undefined
    ? { stop_reason: reason, stop_sequence: null }
    : { stop_reason: "stop_sequence", stop_sequence: matched }
}

/** Token counts; output is 0 before an answer is streamed. */
export const usage = (input: number, output: number) => ({
  input_tokens: input,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation: null,
  output_tokens: output,
  output_tokens_details: null,
  server_tool_use: null,
  inference_geo: null,
  service_tier: "standard",
  speed: null
})

/** The message without its blocks. */
export const envelope = ({ id, model }: Head) => ({
  id: `msg_${id}`,
  type: "message",
  role: "assistant",
  model,
  container: null,
  diagnostics: null,
  stop_details: null
})
