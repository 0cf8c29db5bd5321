/**
 * A scripted policy: for tests, demos and measuring everything except inference.
 *
 * Deterministic: a list is used cyclically; a function gets each request. Token-level like a vLLM server: ids of the
 * given tokenizer, including the end-of-sequence token, every logprob ln 1/2. A completion longer than `maxTokens` is
 * truncated and finishes with `length`; one with a stop string ends with it, without the end-of-sequence token.
 */
import { Duration, Effect } from "effect"
import type { ChatRequest, InferenceError, TextRequest, TokenChoice } from "../wire/Inference.ts"
import { type Message, text as textOf, type ToolCall } from "../../trajectory/Message.ts"
import * as Sampling from "../../trajectory/Sampling.ts"
import * as StopString from "../wire/StopString.ts"
import type { TokenizerShape } from "../tokenizer/Tokenizer.ts"
import type { FinishReason } from "../../trajectory/Trajectory.ts"
import { type AnswerChoice, type Backend, type IdsRequest, unsupported } from "./Backend.ts"

/** The policy's output: a text, optionally with other fields that a server reports. */
export type Completion =
  | string
  | {
      readonly text: string
      readonly toolCalls?: ReadonlyArray<ToolCall>
      readonly reasoning?: string
      readonly finishReason?: FinishReason
    }

export type ScriptedRequest = ChatRequest | TextRequest

/**
 * Completions in order, or a function of the request: it returns one completion for all of its `n`, or a list to cycle
 * through.
 */
export type Script =
  | ReadonlyArray<Completion>
  | ((
      request: ScriptedRequest
    ) => Completion | ReadonlyArray<Completion> | Effect.Effect<Completion | ReadonlyArray<Completion>, InferenceError>)

export interface Options {
  /** Latency of every request. Default: none. */
  readonly latency?: Duration.Input
  readonly modelName?: string
  /** If false, the policy acts as a plain OpenAI server: text only, no ids, no logprobs. Default true. */
  readonly tokenLevel?: boolean
  /** The trainer step reported as policy version, read for each answer. */
  readonly policyVersion?: () => number
}

const logHalf = Math.log(0.5)

/** Repeats the user's last message. */
export const echo = (request: ScriptedRequest): Completion => {
  if ("prompt" in request) return request.prompt
  const content = request.messages.findLast(({ role }) => role === "user")?.content
  return typeof content === "string" ? content : ""
}

export const make = (script: Script, tokenizer: TokenizerShape, options: Options = {}): Backend => {
  const server = "scripted policy"
  const { policyVersion, tokenLevel = true } = options
  const latency = options.latency === undefined ? undefined : Duration.fromInputUnsafe(options.latency)
  let count = 0

  const reply = (request: ScriptedRequest): Effect.Effect<ReadonlyArray<AnswerChoice>, InferenceError> => {
    const n = request.n ?? 1
    if (typeof script !== "function") {
      const from = count
      count += n
      return Effect.succeed(
        Array.from({ length: n }, (_, i) => toChoice(script[(from + i) % script.length] ?? "", request))
      )
    }
    const answer = script(request)
    return Effect.map(Effect.isEffect(answer) ? answer : Effect.succeed(answer), (completions) => {
      const list: ReadonlyArray<Completion> = isCompletion(completions) ? [completions] : completions
      return Array.from({ length: n }, (_, i) => toChoice(list[i % list.length] ?? "", request))
    })
  }
  const answer = (request: ScriptedRequest) =>
    latency === undefined
      ? Effect.suspend(() => reply(request))
      : Effect.suspend(() => Effect.delay(reply(request), latency))

  const toChoice = (completion: Completion, request: ScriptedRequest): AnswerChoice => {
    const { maxTokens } = request
    const whole = typeof completion === "string" ? { text: completion } : completion
    const stopped = StopString.first(whole.text, request.stop ?? [])
    const ids = tokenizer.encode(whole.text.slice(0, stopped?.end), { addSpecialTokens: false })
    const isCut = maxTokens !== undefined && ids.length > maxTokens
    const text = isCut ? tokenizer.decode(ids.slice(0, maxTokens)) : whole.text.slice(0, stopped?.at)
    const toolCalls = isCut || stopped !== undefined ? [] : (whole.toolCalls ?? [])
    const finish = {
      finishReason: isCut
        ? "length"
        : stopped !== undefined
          ? "stop"
          : (whole.finishReason ?? (toolCalls.length > 0 ? "tool_calls" : "stop")),
      sampling: Sampling.ofRequest(request, "tempered"),
      ...(policyVersion === undefined ? {} : { policyVersion: policyVersion() })
    }
    const tokens = isCut
      ? ids.slice(0, maxTokens)
      : tokenizer.eosTokenId === undefined || stopped !== undefined
        ? ids
        : [...ids, tokenizer.eosTokenId]
    const message: Message = {
      role: "assistant",
      content: text,
      ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
      ...(whole.reasoning === undefined ? {} : { reasoning_content: whole.reasoning })
    }
    return {
      message,
      text,
      toolCalls,
      ...finish,
      ...(stopped !== undefined && !isCut && { stop: stopped.stop }),
      ...(tokenLevel ? { sampled: { tokens, logprobs: tokens.map(() => logHalf), ...finish } } : {})
    }
  }

  return {
    server,
    modelName: options.modelName ?? "scripted",
    capabilities: { tokens: tokenLevel, promptLogprobs: tokenLevel },
    chat: (request) =>
      Effect.map(answer(request), (choices) => {
        const [{ message } = { message: undefined }] = choices
        const { onDelta } = request
        if (onDelta !== undefined && message !== undefined) {
          if (message.reasoning_content) onDelta({ reasoning: message.reasoning_content })
          for (const letter of textOf(message)) onDelta({ content: letter })
        }
        return toAnswer(choices)
      }),
    complete: (request) => Effect.map(answer(request), toAnswer),
    tokens: ({ inputIds, onTokens, origin, ...sampling }: IdsRequest) =>
      tokenLevel
        ? Effect.map(answer({ ...(origin ?? { prompt: tokenizer.decode(inputIds) }), ...sampling }), (choices) => {
            if (onTokens !== undefined) for (const id of choices[0]?.sampled?.tokens ?? []) onTokens([id])
            return choices.flatMap(({ sampled }): ReadonlyArray<TokenChoice> =>
              sampled === undefined ? [] : [sampled]
            )
          })
        : unsupported(server, "token-level completions", "create it with tokenLevel: true"),
    promptLogprobs: ({ inputIds, topK }) =>
      tokenLevel
        ? Effect.succeed({
            promptTokens: inputIds,
            topTokenIds: inputIds.map((id, at) => (at === 0 ? [] : alternatives(id, topK, tokenizer.vocabularySize))),
            topLogprobs: inputIds.map((_, at) => (at === 0 ? [] : halves(topK)))
          })
        : unsupported(server, "prompt logprobs", "create it with tokenLevel: true"),
    health: Effect.void
  }
}

const usageOf = (choices: ReadonlyArray<AnswerChoice>) => ({
  promptTokens: 0,
  completionTokens: choices.reduce((sum, { sampled, text }) => sum + (sampled?.tokens.length ?? text.length), 0)
})
const toAnswer = (choices: ReadonlyArray<AnswerChoice>) => ({ choices, usage: usageOf(choices) })

const isCompletion = (given: Completion | ReadonlyArray<Completion>): given is Completion => !Array.isArray(given)

/** The id itself and its neighbours, each half as likely as the one before. */
const alternatives = (id: number, topK: number, vocabularySize: number): ReadonlyArray<number> =>
  Array.from({ length: Math.max(1, topK) }, (_, i) => (id + i) % vocabularySize)
const halves = (topK: number): ReadonlyArray<number> =>
  Array.from({ length: Math.max(1, topK) }, (_, i) => logHalf * (i + 1))
