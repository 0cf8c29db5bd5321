/**
 * Formats responses like OpenAI, with vLLM's additions (`token_ids`, `prompt_token_ids`, `stop_reason`) and ours:
 * `policy_version` per choice and response (the oldest); `policy_versions` per token, if weights changed during
 * sampling; `logprobs_mode`. `bytes` of a token are null if its text is not a whole character. Pure.
 */
import type { Sampling, ToolCalls, Tokenizer } from "@atropos/core"
import type * as Completions from "./Completions.ts"
import type { Alternatives, PromptLogprobs } from "../engine/Engine.ts"

export interface Telling {
  readonly tokenizer: Tokenizer.TokenizerShape
  readonly returnTokenIds: boolean
  /** `token_id:<id>` instead of text. */
  readonly tokensAsIds: boolean
}

/** Fields shared by all choices and chunks of a response. */
export interface Envelope {
  readonly id: string
  readonly created: number
  readonly model: string
}

export interface Usage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  /** Prompt tokens taken from the prefix cache. */
  readonly prompt_tokens_details: { readonly cached_tokens: number }
}

export const usage = (promptTokens: number, completionTokens: number, cachedTokens: number): Usage => ({
  prompt_tokens: promptTokens,
  completion_tokens: completionTokens,
  total_tokens: promptTokens + completionTokens,
  prompt_tokens_details: { cached_tokens: cachedTokens }
})

/** A piece of a completion, or all of it. */
type Part = Omit<Completions.Delta, "index">

const encoder = new TextEncoder()

const textOf = (token: number, { tokenizer, tokensAsIds }: Telling): string =>
  tokensAsIds ? `token_id:${token}` : tokenizer.decode([token])

const bytesOf = (token: number, { tokenizer }: Telling): ReadonlyArray<number> | null => {
  const text = tokenizer.decode([token])
  return text.includes("\u{FFFD}") ? null : Array.from(encoder.encode(text))
}

const chatToken = (token: number, logprob: number, telling: Telling) => ({
  token: textOf(token, telling),
  logprob,
  bytes: bytesOf(token, telling)
})

const pairs = ({ logprobs, tokens }: Alternatives): ReadonlyArray<readonly [token: number, logprob: number]> =>
  tokens.map((token, index) => [token, logprobs[index]!] as const)

/** Logprobs of a chat choice; `isAsked` false: null. */
export const chatLogprobs = (part: Part, isAsked: boolean, telling: Telling) =>
  isAsked
    ? {
        content: part.tokens.map((token, index) => ({
          ...chatToken(token, part.logprobs[index]!, telling),
          top_logprobs: pairs(part.alternatives[index] ?? none).map(([id, logprob]) => chatToken(id, logprob, telling))
        })),
        refusal: null
      }
    : null

const none: Alternatives = { tokens: [], logprobs: [] }

/** Logprobs in the format of the legacy completions API. */
export interface TextLogprobs {
  readonly tokens: ReadonlyArray<string>
  readonly token_logprobs: ReadonlyArray<number | null>
  readonly top_logprobs: ReadonlyArray<{ readonly [token: string]: number } | null> | null
  readonly text_offset: ReadonlyArray<number>
}

interface Told {
  readonly tokens: ReadonlyArray<number>
  readonly logprobs: ArrayLike<number>
  readonly alternatives: ReadonlyArray<Alternatives>
}

/**
 * `count`: number of alternatives requested (including the sampled token); `offset`: characters before these tokens.
 */
export const textLogprobs = (part: Told, count: number, offset: number, telling: Telling): TextLogprobs => {
  const texts = part.tokens.map((token) => textOf(token, telling))
  const offsets: Array<number> = []
  let at = offset
  for (const token of part.tokens) {
    offsets.push(at)
    at += telling.tokenizer.decode([token], { skipSpecialTokens: true }).length
  }
  return {
    tokens: texts,
    token_logprobs: part.tokens.map((_, index) => part.logprobs[index]!),
    top_logprobs:
      count === 0
        ? null
        : part.tokens.map((_, index) => ({
            ...Object.fromEntries(
              pairs(part.alternatives[index] ?? none).map(([id, logprob]) => [textOf(id, telling), logprob])
            ),
            [texts[index]!]: part.logprobs[index]!
          })),
    text_offset: offsets
  }
}

/** Logprobs of an echoed prompt; its first token has none. */
export const echoLogprobs = (
  tokens: ReadonlyArray<number>,
  { alternatives, logprobs }: PromptLogprobs,
  count: number,
  telling: Telling
): TextLogprobs => {
  const echoed = textLogprobs({ tokens, logprobs, alternatives }, count, 0, telling)
  return {
    ...echoed,
    token_logprobs: [null, ...echoed.token_logprobs.slice(1)],
    top_logprobs: echoed.top_logprobs === null ? null : [null, ...echoed.top_logprobs.slice(1)]
  }
}

export const concatLogprobs = (first: TextLogprobs, second: TextLogprobs): TextLogprobs => ({
  tokens: [...first.tokens, ...second.tokens],
  token_logprobs: [...first.token_logprobs, ...second.token_logprobs],
  top_logprobs:
    first.top_logprobs === null || second.top_logprobs === null
      ? null
      : [...first.top_logprobs, ...second.top_logprobs],
  text_offset: [...first.text_offset, ...second.text_offset]
})

const common = (part: Part, { returnTokenIds }: Telling) => ({
  finish_reason: part.finishReason ?? null,
  stop_reason: part.stop ?? null,
  ...(returnTokenIds && { token_ids: part.tokens }),
  policy_version: part.policyVersion,
  ...(part.policyVersions && { policy_versions: part.policyVersions })
})

/**
 * Fields about all tokens of a response: the oldest weights that sampled them, and the distribution of their logprobs
 * (`Sampling` of core).
 */
export const origin = (policyVersion: number) => ({
  policy_version: policyVersion,
  logprobs_mode: "tempered" satisfies Sampling.LogprobsMode
})

/** A chat choice; `answer` is its text with the tool calls parsed. */
export const chatChoice = (
  index: number,
  part: Part,
  answer: ToolCalls.ParsedAnswer,
  isLogprobsAsked: boolean,
  telling: Telling
) => ({
  index,
  message: {
    role: "assistant",
    content: answer.content,
    ...(answer.reasoning !== undefined && { reasoning_content: answer.reasoning }),
    refusal: null,
    ...(answer.toolCalls.length > 0 && { tool_calls: answer.toolCalls })
  },
  logprobs: chatLogprobs(part, isLogprobsAsked, telling),
  ...common(part, telling),
  finish_reason: answer.finishReason
})

export const textChoice = (index: number, part: Part, logprobs: TextLogprobs | null, telling: Telling) => ({
  index,
  text: part.text,
  logprobs,
  ...common(part, telling)
})

export const chatDelta = (index: number, part: Part, isLogprobsAsked: boolean, telling: Telling) => ({
  index,
  delta: { content: part.text },
  logprobs: chatLogprobs(part, isLogprobsAsked, telling),
  ...common(part, telling)
})

/** The tool calls of a streamed choice, all in one chunk. */
export const toolCallDelta = (answer: ToolCalls.ParsedAnswer) => ({
  ...(answer.reasoning !== undefined && { reasoning_content: answer.reasoning }),
  ...(answer.content !== null && { content: answer.content }),
  ...(answer.toolCalls.length > 0 && { tool_calls: answer.toolCalls.map((call, index) => ({ index, ...call })) })
})

/** The first chunk of a streamed chat choice, with the role. */
export const roleDelta = (index: number, policyVersion: number) => ({
  index,
  delta: { role: "assistant", content: "" },
  logprobs: null,
  finish_reason: null,
  policy_version: policyVersion
})

export const event = (data: unknown): string => `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`
export const done = event("[DONE]")
