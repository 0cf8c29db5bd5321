/**
 * Requests reasoning from models, and reads it from their answers.
 *
 * OpenAI's own service uses `reasoning_effort`, requires temperature 1 and calls the token limit
 * `max_completion_tokens`; every other provider takes a `reasoning` object with either an effort or a token limit; the
 * effort takes precedence. Source: the original's ReasoningConfig (atroposlib/envs/server_handling/server_baseline.py).
 */
import type { Common } from "../../definition/EnvironmentSettings.ts"
import type { Message } from "../../trajectory/Message.ts"
import { isOfficial } from "./ServerSettings.ts"

export type Effort = "none" | "minimal" | "low" | "medium" | "high" | "xhigh"

export interface Reasoning {
  readonly enabled: boolean
  readonly effort?: Effort
  readonly maxTokens?: number
}

/** Reasoning left to the server. */
export const off: Reasoning = { enabled: false }

/** The reasoning that an environment's settings request; an effort or a limit implies that it is enabled. */
export const fromSettings = (
  settings: Pick<Common, "thinkingMode" | "reasoningEffort" | "maxReasoningTokens">
): Reasoning => ({
  enabled: settings.thinkingMode || settings.reasoningEffort !== null || settings.maxReasoningTokens !== null,
  ...(settings.reasoningEffort === null ? {} : { effort: settings.reasoningEffort }),
  ...(settings.maxReasoningTokens === null ? {} : { maxTokens: settings.maxReasoningTokens })
})

/** Adds the reasoning options to a request body; keys set by the caller are kept. */
export const inject = (
  body: { readonly [key: string]: unknown },
  reasoning: Reasoning,
  baseUrl: string
): { readonly [key: string]: unknown } => {
  if (!reasoning.enabled) return body
  if (isOfficial(baseUrl)) {
    const { max_tokens: limit, ...rest } = body
    return {
      reasoning_effort: reasoning.effort ?? "medium",
      ...rest,
      temperature: 1,
      ...(limit === undefined ? {} : { max_completion_tokens: limit })
    }
  }
  const { effort, maxTokens } = reasoning
  const detail = effort !== undefined ? { effort } : maxTokens !== undefined ? { max_tokens: maxTokens } : {}
  return { reasoning: { enabled: true, ...detail }, ...body }
}

const blocks = [
  ["<think>", "</think>"],
  ["<|start_of_scratchpad|>", "<|end_of_scratchpad|>"]
] as const

/**
 * A message's reasoning, from any provider's field: `reasoning_content`, `reasoning`, `reasoning_details`, or a block
 * in the text.
 */
export const read = (message: Message): string | undefined => {
  const { content, reasoning, reasoning_content: own, reasoning_details: details } = message
  if (typeof own === "string" && own !== "") return own
  if (typeof reasoning === "string" && reasoning !== "") return reasoning
  if (Array.isArray(details)) {
    const text = details
      .map((detail: { readonly text?: unknown } | null) => detail?.text)
      .find((one) => typeof one === "string" && one !== "")
    if (typeof text === "string") return text
  }
  if (typeof content !== "string") return undefined
  for (const [open, close] of blocks) {
    const start = content.indexOf(open)
    const end = start === -1 ? -1 : content.indexOf(close, start + open.length)
    const reasoning = end === -1 ? "" : content.slice(start + open.length, end).trim()
    if (reasoning !== "") return reasoning
  }
  return undefined
}
