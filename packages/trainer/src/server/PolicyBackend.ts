/**
 * In-process inference back end of the policy: core's `ServerManager` on the engine without HTTP. Unsupported
 * parameters in `extra` are rejected by name; an engine at capacity is `overloaded`, so that the manager retries.
 *
 *     ServerManager.layerBackends([yield* PolicyBackend.make({ modelName, maxSequenceTokens })])
 */
import {
  InferenceError,
  type DeltaHandler,
  type SamplingOptions,
  type TokenChoice
} from "@atropos/core/inference/wire/Inference"
import type { Answer, Backend } from "@atropos/core/inference/backend/Backend"
import { Message, Sampling, ServerManager, type ServerSettings, type Tokenizer, type ToolCalls } from "@atropos/core"
import { Effect, Layer } from "effect"
import * as ChatPrompt from "./ChatPrompt.ts"
import type * as Completions from "./Completions.ts"
import type { Engine, EngineError } from "../engine/Engine.ts"
import * as Parameters from "./OpenAiApiParameters.ts"
import * as SamplingRequest from "./SamplingRequest.ts"
import * as ScoredPrompt from "./ScoredPrompt.ts"
import * as ServedPolicy from "./ServedPolicy.ts"

const server = "policy in this process"
const readExtra = Parameters.reader(Parameters.Generate, [])

const fromEngine = (error: EngineError): InferenceError => {
  const { message } = error
  switch (error._tag) {
    case "EngineOverloaded":
      return new InferenceError({
        reason: "overloaded",
        server,
        message,
        retryAfterMillis: error.retryAfterMillis,
        cause: error
      })
    case "EngineFailed":
      return new InferenceError({ reason: "failed", server, message, cause: error })
    case "InvalidRequest":
    case "PromptTooLong":
    case "UnknownPolicy":
      return new InferenceError({ reason: "rejected", server, message, cause: error })
  }
}

const fromPrompt = (cause: ServedPolicy.PromptError): InferenceError =>
  new InferenceError({ reason: "rejected", server, message: cause.message, cause })

const rejected = ({ message }: { readonly message: string }): InferenceError =>
  new InferenceError({ reason: "rejected", server, message })

const plain = (text: string, finishReason: string) =>
  Effect.succeed<ToolCalls.ParsedAnswer>({ content: text, toolCalls: [], finishReason })

const toTokenChoice =
  (sampling: Sampling.Sampling) =>
  ({
    finishReason,
    logprobs,
    policyVersion,
    policyVersions,
    routedExperts,
    tokens
  }: Completions.Completion): TokenChoice => ({
    tokens,
    logprobs,
    finishReason,
    policyVersion,
    ...(policyVersions && { policyVersions }),
    ...(routedExperts && { routedExperts }),
    sampling
  })

/** The sampling record of a request; the engine's logprobs are over the whole vocabulary at the temperature. */
const samplingOf = (request: ServerManager.SamplingOptions): Sampling.Sampling =>
  Sampling.ofRequest(request, "tempered")

export const make = Effect.fn("PolicyBackend.make")(function* (options: ServedPolicy.Options) {
  const served = yield* ServedPolicy.make(options)
  const { completions, engine, modelName } = served

  /** `extra` takes the parameters of `/generate`, validated as there; they override the request's own fields. */
  const extraOf = Effect.fnUntraced(function* ({ extra, n = 1 }: SamplingOptions) {
    if (extra === undefined) return {}
    const words = yield* Parameters.withoutNulls({ n, ...extra })
    return yield* Parameters.sampling(yield* readExtra(words))
  })

  const sample = Effect.fnUntraced(function* (
    promptTokens: ReadonlyArray<number>,
    request: SamplingOptions,
    onTokens?: DeltaHandler<ReadonlyArray<number>>
  ) {
    const extra = yield* Effect.mapError(extraOf(request), rejected)
    const sampling = { ...request, ...extra }
    yield* Effect.mapError(SamplingRequest.check(sampling), fromEngine)
    const maxTokens = yield* served.room(promptTokens.length, sampling.maxTokens)
    return yield* Effect.mapError(
      completions.collect(
        { ...SamplingRequest.toCompletions(sampling, served), promptTokens, maxTokens },
        onTokens && (({ tokens }) => onTokens(tokens))
      ),
      fromEngine
    )
  })

  const toAnswer = Effect.fnUntraced(function* (
    promptTokens: ReadonlyArray<number>,
    all: ReadonlyArray<Completions.Completion>,
    sampling: Sampling.Sampling,
    parse: (text: string, finishReason: Completions.Completion["finishReason"]) => Effect.Effect<ToolCalls.ParsedAnswer>
  ) {
    const choices = yield* Effect.forEach(all, (completion) =>
      Effect.map(parse(completion.text, completion.finishReason), ({ content, finishReason, reasoning, toolCalls }) => {
        const message: Message.Message = {
          role: "assistant",
          content,
          ...(reasoning !== undefined && { reasoning_content: reasoning }),
          ...(toolCalls.length > 0 && { tool_calls: toolCalls })
        }
        const { policyVersion } = completion
        const sampled = { ...toTokenChoice(sampling)(completion), finishReason }
        return { message, text: Message.text(message), toolCalls, finishReason, policyVersion, sampling, sampled }
      })
    )
    return {
      choices,
      promptTokens,
      usage: {
        promptTokens: promptTokens.length,
        completionTokens: all.reduce((sum, { tokens }) => sum + tokens.length, 0)
      }
    } satisfies Answer
  })

  return {
    server,
    modelName,
    capabilities: { tokens: true, promptLogprobs: true },
    chat: Effect.fn("PolicyBackend.chat")(function* (request) {
      const { messages, toolChoice, tools = [] } = request
      const areCalled = tools.length > 0 && toolChoice !== "none"
      const chat = { messages, tools, areCalled, addGenerationPrompt: true }
      const { ids, keepsSpecialTokens, read } = yield* Effect.mapError(ChatPrompt.make(served, chat), fromPrompt)
      const all = yield* sample(ids, {
        ...request,
        ...(keepsSpecialTokens && { extra: { ...request.extra, skip_special_tokens: false } })
      })
      return yield* toAnswer(ids, all, samplingOf(request), read)
    }),
    complete: Effect.fn("PolicyBackend.complete")(function* (request) {
      const promptTokens = yield* Effect.mapError(served.encode(request.prompt), fromPrompt)
      return yield* toAnswer(promptTokens, yield* sample(promptTokens, request), samplingOf(request), plain)
    }),
    tokens: Effect.fn("PolicyBackend.tokens")((request) =>
      Effect.map(sample(request.inputIds, request, request.onTokens), (all) =>
        all.map(toTokenChoice(samplingOf(request)))
      )
    ),
    promptLogprobs: Effect.fn("PolicyBackend.promptLogprobs")(function* ({ inputIds, topK }) {
      const scored = yield* Effect.mapError(
        engine.score({ promptTokens: inputIds, topLogprobs: Math.max(1, topK) }),
        fromEngine
      )
      const positions = ScoredPrompt.positions(inputIds, scored)
      return {
        promptTokens: inputIds,
        topTokenIds: positions.map(({ tokens }) => tokens),
        topLogprobs: positions.map(({ logprobs }) => logprobs)
      }
    }),
    health: Effect.mapError(engine.health, fromEngine)
  } satisfies Backend
})

/** A manager with this policy as its only server; the usual limits, and unlimited concurrent requests. */
export const layerServerManager = (
  options: ServedPolicy.Options & {
    readonly manager?: Partial<ServerSettings.Manager> & Partial<ServerSettings.Server>
  }
): Layer.Layer<ServerManager.ServerManager, never, Engine | Tokenizer.Tokenizer> =>
  Layer.unwrap(
    Effect.map(make(options), (backend) =>
      ServerManager.layerBackends([backend], {
        healthCheck: true,
        ...(options.toolCallFormat !== undefined && { toolCallFormat: options.toolCallFormat }),
        ...options.manager
      })
    )
  )
