/**
 * One inference back end: a server of some kind, asked in its own dialect, answering in ours.
 *
 * A back end makes one request per call and reports what happened; it neither waits for room, nor retries, nor records
 * figures. `ServerManager` does that around it, and hands out values of this same type whose effects already wait,
 * retry, time out and fall back to another server: a tracked session is written against `Backend` and does not know
 * which of the two it has.
 *
 * Guarantees of every implementation: exactly `n` choices in the server's order, or a failure; logprobs are finite and
 * as many as tokens; every failure is an `InferenceError` that names the server.
 */
import { Effect } from "effect"
import {
  type ChatRequest,
  type Choice,
  InferenceError,
  type Listener,
  type PromptLogprobs,
  type PromptRequest,
  type Served,
  type TextRequest,
  type TokenChoice,
  type TokensRequest
} from "./Inference.ts"
import type { Identity } from "./Identity.ts"

/** What a back end can do beside chat and text completions. */
export interface Capabilities {
  /** `tokens` works: prompts go as ids, and the exact ids and logprobs of what was sampled come back. */
  readonly tokens: boolean
  /** `promptLogprobs` works. */
  readonly promptLogprobs: boolean
}

/** Token counts as the server bills them. */
export interface Usage {
  readonly promptTokens: number
  readonly completionTokens: number
}

/** A choice of a chat or text completion, with its exact tokens where the server adds them. */
export interface AnswerChoice extends Choice {
  readonly sampled?: TokenChoice
  readonly served?: Served
}

/** The answer to a chat or text completion; `choices.length` is the request's `n`. */
export interface Answer {
  readonly choices: ReadonlyArray<AnswerChoice>
  /** The prompt as the server tokenised it, where it says so. */
  readonly promptTokens?: ReadonlyArray<number>
  readonly usage?: Usage
}

/** A token-level request, with what its ids were made of (a scripted policy reads that; servers never see it). */
export interface IdsRequest extends TokensRequest {
  readonly origin?: ChatRequest | TextRequest
  /** Hears the ids of one answer as they are sampled. */
  readonly onTokens?: Listener<ReadonlyArray<number>>
}

/** Whether the exact tokens of an answer are wanted beside its text. */
export interface Exact {
  readonly exact?: boolean
}

export interface Backend {
  /** Base URL, or a name for what has none; what `InferenceError.server` says. */
  readonly server: string
  readonly modelName: string
  /** Of a server that is still to be asked what it is: none, until `identify` has succeeded. */
  readonly capabilities: Capabilities
  /** Finds out what the server is, once; absent where that is known. Every request does it by itself. */
  readonly identify?: Effect.Effect<unknown, InferenceError>
  /** What the server is, once that was found out. */
  readonly identity?: Identity | undefined
  readonly chat: (request: ChatRequest & Exact) => Effect.Effect<Answer, InferenceError>
  readonly complete: (request: TextRequest & Exact) => Effect.Effect<Answer, InferenceError>
  /** n completions of token ids. Fails with `unsupported` where `capabilities.tokens` is false. */
  readonly tokens: (request: IdsRequest) => Effect.Effect<ReadonlyArray<TokenChoice>, InferenceError>
  /** Fails with `unsupported` where `capabilities.promptLogprobs` is false. */
  readonly promptLogprobs: (request: PromptRequest) => Effect.Effect<PromptLogprobs, InferenceError>
  /** Succeeds where the server answers a cheap question; never a generation. */
  readonly health: Effect.Effect<void, InferenceError>
}

/** The failure of a method this kind of server does not have. */
export const unsupported = (server: string, what: string, instead: string): Effect.Effect<never, InferenceError> =>
  Effect.fail(new InferenceError({ reason: "unsupported", server, message: `${server} cannot do ${what}: ${instead}` }))
