/**
 * Defines an inference backend: a server of some kind, with its protocol translated to ours.
 *
 * A backend makes one request per call and reports the result; it does not queue, retry or record metrics.
 * `ServerManager` returns values of this same type whose effects do all that and fall back to another server, so a
 * tracked session works with either.
 *
 * Guarantees of every implementation: exactly `n` choices in the server's order, or a failure; logprobs are finite and
 * as many as tokens; every failure is an `InferenceError` that names the server.
 */
import { Effect } from "effect"
import {
  type ChatRequest,
  type Choice,
  InferenceError,
  type DeltaHandler,
  type PromptLogprobs,
  type PromptRequest,
  type Served,
  type TextRequest,
  type TokenChoice,
  type TokensRequest
} from "../wire/Inference.ts"
import type { Identity } from "./Identity.ts"

/** Capabilities of a backend in addition to chat and text completions. */
export interface Capabilities {
  /** `tokens` works: prompts are sent as ids, and the exact sampled ids and logprobs are returned. */
  readonly tokens: boolean
  readonly promptLogprobs: boolean
}

export interface Usage {
  readonly promptTokens: number
  readonly completionTokens: number
}

/** An engine's own figures. */
export interface Load {
  /** Share of the KV cache in use, 0 to 1. */
  readonly kvUsage: number
  /** Since it started: requests that lost their KV cache to others. */
  readonly preemptions: number
  /** Requests that it has received and not begun. */
  readonly waiting: number
}

/** A choice of a chat or text completion, with its exact tokens if the server adds them. */
export interface AnswerChoice extends Choice {
  readonly sampled?: TokenChoice
  readonly served?: Served
}

/** The answer to a chat or text completion; `choices.length` is the request's `n`. */
export interface Answer {
  readonly choices: ReadonlyArray<AnswerChoice>
  /** The prompt as tokenized by the server, if reported. */
  readonly promptTokens?: ReadonlyArray<number>
  readonly usage?: Usage
}

/** A token-level request with the source of its ids (read by scripted policies; never sent to servers). */
export interface IdsRequest extends TokensRequest {
  readonly origin?: ChatRequest | TextRequest
  /** Receives the ids of one answer during sampling. */
  readonly onTokens?: DeltaHandler<ReadonlyArray<number>>
}

/** Requests the exact tokens of an answer in addition to its text. */
export interface Exact {
  readonly exact?: boolean
}

export interface Backend {
  /** Base URL, or a name if it has none; reported as `InferenceError.server`. */
  readonly server: string
  readonly modelName: string
  /** All false until `identify` has succeeded, for a server that is not known yet. */
  readonly capabilities: Capabilities
  /** Identifies the server, once; absent if it is known. Every request does this by itself. */
  readonly identify?: Effect.Effect<unknown, InferenceError>
  /** The server's identity, once known. */
  readonly identity?: Identity | undefined
  /** Max tokens of a prompt and its answer, once known; the least of several servers. */
  readonly contextLength?: number | undefined
  readonly chat: (request: ChatRequest & Exact) => Effect.Effect<Answer, InferenceError>
  readonly complete: (request: TextRequest & Exact) => Effect.Effect<Answer, InferenceError>
  /** n completions of token ids. Fails with `unsupported` if `capabilities.tokens` is false. */
  readonly tokens: (request: IdsRequest) => Effect.Effect<ReadonlyArray<TokenChoice>, InferenceError>
  /** Fails with `unsupported` if `capabilities.promptLogprobs` is false. */
  readonly promptLogprobs: (request: PromptRequest) => Effect.Effect<PromptLogprobs, InferenceError>
  /** Succeeds if the server answers a cheap request; never generates. */
  readonly health: Effect.Effect<void, InferenceError>
  /** Absent if the server reports none, or is not known yet. */
  readonly load?: Effect.Effect<Load, InferenceError> | undefined
}

/** The failure of a method that this kind of server does not support. */
export const unsupported = (server: string, what: string, instead: string): Effect.Effect<never, InferenceError> =>
  Effect.fail(
    new InferenceError({ reason: "unsupported", server, message: `${server} does not support ${what}: ${instead}` })
  )
