/**
 * Handles `POST /v1/chat/completions`, with the tokenizer's chat template. With `tools` the calls are parsed from the
 * whole text, in the model's own format, so a streamed choice then arrives as one piece. Images and other non-text
 * parts are rejected.
 */
import { ToolSupport } from "@atropos/core"
import { Clock, Effect, type Scope } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { randomUUID } from "node:crypto"
import * as ChatMessages from "./ChatMessages.ts"
import * as ChatPrompt from "./ChatPrompt.ts"
import type * as Completions from "./Completions.ts"
import * as EventStream from "./EventStream.ts"
import * as Answers from "./OpenAiApiAnswers.ts"
import * as ApiError from "./OpenAiApiError.ts"
import * as Parameters from "./OpenAiApiParameters.ts"
import * as RequestBody from "./RequestBody.ts"
import * as SamplingRequest from "./SamplingRequest.ts"
import * as ServedPolicy from "./ServedPolicy.ts"
import * as ToolChoice from "./ToolChoice.ts"

const read = Parameters.reader(Parameters.Chat, ["messages", "tools", "tool_choice"])
const toError = ApiError.fromEngine("messages")

export const handle = (
  served: ServedPolicy.ServedPolicy
): Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  ApiError.OpenAiApiError,
  HttpServerRequest.HttpServerRequest | Scope.Scope
> =>
  Effect.gen(function* () {
    const body = yield* RequestBody.parameters
    const parameters = yield* read(body)
    yield* checkOptions(parameters)
    const messages = yield* ChatMessages.read(body["messages"], served.maxSequenceTokens)
    const { areCalled, forced, tools } = yield* ToolChoice.read(body, served.format)
    yield* ToolSupport.report(served.tokenizer, tools, served.format)
    const addGenerationPrompt = parameters.add_generation_prompt ?? true
    const prompt = yield* Effect.mapError(
      ChatPrompt.make(served, { messages, tools, areCalled, addGenerationPrompt, forced }),
      ApiError.fromPrompt("messages")
    )
    if (forced !== undefined) yield* ToolChoice.check(prompt, forced)
    const promptTokens = prompt.ids
    const isLogprobsAsked = parameters.logprobs ?? false
    const sampling = yield* Parameters.sampling(parameters)
    if (forced !== undefined && sampling.schema !== undefined) {
      return yield* ApiError.invalid(
        "tool_choice",
        "tool_choice: cannot be combined with response_format or structured outputs"
      )
    }
    const request: Completions.Request = {
      ...SamplingRequest.toCompletions({ ...sampling, ...(forced && { schema: forced.schema }) }, served),
      promptTokens,
      maxTokens: yield* served.room(promptTokens.length, parameters.max_completion_tokens ?? parameters.max_tokens),
      ...(isLogprobsAsked && { topLogprobs: parameters.top_logprobs ?? 0 }),
      ...(prompt.keepsSpecialTokens && { skipSpecialTokens: false })
    }
    const telling: Answers.Telling = {
      tokenizer: served.tokenizer,
      returnTokenIds: parameters.return_token_ids ?? false,
      tokensAsIds: parameters.return_tokens_as_token_ids ?? false
    }
    const envelope: Answers.Envelope = {
      id: `chatcmpl-${randomUUID()}`,
      created: Math.floor((yield* Clock.currentTimeMillis) / 1000),
      model: parameters.model ?? served.modelName
    }
    const promptIds = telling.returnTokenIds ? { prompt_token_ids: promptTokens } : {}
    const answerOf = ({ finishReason = "stop", text }: Pick<Completions.Delta, "finishReason" | "text">) =>
      prompt.read(text, finishReason)

    if (parameters.stream !== true) {
      const all = yield* Effect.mapError(served.completions.collect(request), toError)
      const choices = yield* Effect.forEach(all, (completion, index) =>
        Effect.map(answerOf(completion), (answer) =>
          Answers.chatChoice(index, completion, answer, isLogprobsAsked, telling)
        )
      )
      const version = Math.min(...all.map(({ policyVersion }) => policyVersion))
      return HttpServerResponse.jsonUnsafe(
        {
          ...envelope,
          object: "chat.completion",
          choices,
          usage: Answers.usage(
            promptTokens.length,
            sum(all.map(({ tokens }) => tokens.length)),
            all[0]?.cachedTokens ?? 0
          ),
          ...promptIds,
          ...Answers.origin(version)
        },
        { headers: { "x-policy-version": String(version) } }
      )
    }

    const isUsageAsked = parameters.stream_options?.include_usage ?? false
    const chunk = (choices: ReadonlyArray<unknown>, more: object = {}): string =>
      Answers.event({
        ...envelope,
        object: "chat.completion.chunk",
        choices,
        ...(isUsageAsked && { usage: null }),
        ...more
      })
    const begun = new Set<number>()
    const held = new Map<number, string>()
    let completionTokens = 0
    let cachedTokens = 0
    const toEvents = Effect.fnUntraced(function* (piece: Completions.Delta) {
      const { index, policyVersion } = piece
      completionTokens += piece.tokens.length
      cachedTokens = piece.cachedTokens
      const isFirst = begun.size === 0
      const opening = begun.has(index) ? "" : chunk([Answers.roleDelta(index, policyVersion)], isFirst ? promptIds : {})
      begun.add(index)
      const delta = Answers.chatDelta(index, piece, isLogprobsAsked, telling)
      if (!prompt.isReadWhole) return opening + chunk([delta])
      const text = (held.get(index) ?? "") + piece.text
      held.set(index, text)
      if (piece.finishReason === undefined) return opening + chunk([{ ...delta, delta: {} }])
      const answer = yield* answerOf({ text, finishReason: piece.finishReason })
      const ended = { ...delta, delta: Answers.toolCallDelta(answer), finish_reason: answer.finishReason }
      return opening + chunk([ended])
    })
    return yield* EventStream.respond({
      pieces: served.completions.stream(request),
      toEvents,
      toError,
      last: () =>
        isUsageAsked ? chunk([], { usage: Answers.usage(promptTokens.length, completionTokens, cachedTokens) }) : ""
    })
  })

const checkOptions = (parameters: typeof Parameters.Chat.Type): Effect.Effect<void, ApiError.OpenAiApiError> => {
  if (parameters.top_logprobs !== undefined && parameters.logprobs !== true) {
    return Effect.fail(ApiError.invalid("top_logprobs", "top_logprobs: set logprobs to true to get them"))
  }
  return checkStreamOptions(parameters)
}

/** Like OpenAI, rejects stream options of a request that does not stream. */
export const checkStreamOptions = (parameters: {
  readonly stream?: boolean
  readonly stream_options?: unknown
}): Effect.Effect<void, ApiError.OpenAiApiError> =>
  parameters.stream_options !== undefined && parameters.stream !== true
    ? Effect.fail(ApiError.invalid("stream_options", "stream_options: only allowed if stream is true"))
    : Effect.void

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((total, number) => total + number, 0)
