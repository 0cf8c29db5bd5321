/**
 * Which inference server answers, how many requests at once, and how often again.
 *
 * Guarantees: training and evaluation requests have separate limits per server; a request goes to the healthy server with the
 * most room and to another one when that dies; retries are bounded, jittered and respect Retry-After; nothing waits for ever.
 */
import { Context, Effect, Schema, type Scope } from "effect"
import type { Message, ToolCall } from "./Message.ts"
import type { FinishReason, Trajectory } from "./Trajectory.ts"

/** What went wrong at the boundary to an inference server. */
export const InferenceFailure = Schema.Literals([
  "unreachable", // no connection, or it broke
  "timeout", // no answer in time
  "overloaded", // 429, 503: asked to come back later
  "rejected", // any other 4xx: asking again will not help
  "failed", // 5xx
  "malformed", // an answer that is not what the protocol says
  "unsupported", // this back end cannot do what was asked
  "noServer" // no healthy server within the time limit
])
export type InferenceFailure = typeof InferenceFailure.Type

export class InferenceError extends Schema.TaggedError<InferenceError>()("InferenceError", {
  reason: InferenceFailure,
  /** Base URL of the server, or what was looked for. */
  server: Schema.String,
  message: Schema.String,
  status: Schema.optionalKey(Schema.Int),
  /** What the server asked to wait, in milliseconds. */
  retryAfterMillis: Schema.optionalKey(Schema.Finite),
  cause: Schema.optionalKey(Schema.Defect())
}) {}

/** Training requests and evaluation requests have limits of their own. */
export type Split = "train" | "eval"

export interface SamplingOptions {
  /** Completions wanted. Default 1. */
  readonly n?: number
  readonly maxTokens?: number
  readonly temperature?: number
  readonly topP?: number
  readonly stop?: ReadonlyArray<string>
  readonly seed?: number
  /** Default "train". */
  readonly split?: Split
  /** Keys of the server's own, merged into the request body. */
  readonly extra?: { readonly [key: string]: unknown }
}

export interface ChatRequest extends SamplingOptions {
  readonly messages: ReadonlyArray<Message>
  readonly tools?: ReadonlyArray<unknown>
  readonly toolChoice?: unknown
  /** Leaves the configured reasoning options out of this request. */
  readonly skipReasoning?: boolean
}

export interface TextRequest extends SamplingOptions {
  readonly prompt: string
}

/** Token-level request: the prompt is sent as ids, so nothing is tokenised again on the server. */
export interface TokensRequest extends SamplingOptions {
  readonly inputIds: ReadonlyArray<number>
}

/** One answer. `message.content` holds the text; token fields are present where the server reports them. */
export interface Choice {
  readonly message: Message
  readonly text: string
  readonly toolCalls: ReadonlyArray<ToolCall>
  readonly finishReason: FinishReason
  readonly policyVersion?: number
}

/** Exact ids and logprobs (nats) of one sampled completion, the end-of-sequence token included. */
export interface TokenChoice {
  readonly tokens: ReadonlyArray<number>
  readonly logprobs: ReadonlyArray<number>
  readonly finishReason: FinishReason
  readonly policyVersion?: number
}

/** Top-k logprobs of each prompt position; empty lists where the server reports none (the first position). */
export interface PromptLogprobs {
  readonly promptTokens: ReadonlyArray<number>
  readonly topTokenIds: ReadonlyArray<ReadonlyArray<number>>
  readonly topLogprobs: ReadonlyArray<ReadonlyArray<number>>
}

/** Figures of one server over its rolling buffer; times in seconds. */
export interface ServerMetrics {
  readonly server: string
  readonly healthy: boolean
  readonly split: Split
  readonly inFlight: number
  readonly count: number
  readonly failures: number
  readonly retries: number
  readonly latencyMean: number
  readonly latencyMax: number
  readonly latencyP95: number
  readonly tokensPerSecond: number
}

/**
 * A session on one server in which every call's exact ids and logprobs are recorded: a later call that extends an earlier one
 * reuses its tokens. See `TrackedSequences`.
 */
export interface TrackedSession {
  readonly chat: (request: ChatRequest) => Effect.Effect<ReadonlyArray<Choice>, InferenceError>
  readonly complete: (request: TextRequest) => Effect.Effect<ReadonlyArray<Choice>, InferenceError>
  /** The sequences recorded so far, oldest first, their invariants checked. */
  readonly trajectories: Effect.Effect<ReadonlyArray<Trajectory>, InferenceError>
}

export interface ServerManagerShape {
  /** n rollouts of a chat, one trajectory each, with exact tokens where the server has them and the tokenizer's elsewhere. */
  readonly chat: (request: ChatRequest) => Effect.Effect<ReadonlyArray<Trajectory>, InferenceError>
  /** n rollouts of a text prompt. */
  readonly complete: (request: TextRequest) => Effect.Effect<ReadonlyArray<Trajectory>, InferenceError>
  /** n answers to a chat without token tracking (judges, evaluation). */
  readonly answer: (request: ChatRequest) => Effect.Effect<ReadonlyArray<Choice>, InferenceError>
  /** n completions of token ids, as sampled. */
  readonly tokens: (request: TokensRequest) => Effect.Effect<ReadonlyArray<TokenChoice>, InferenceError>
  /** Top-k logprobs of every position of a prompt (teacher distillation). */
  readonly promptLogprobs: (request: {
    readonly inputIds: ReadonlyArray<number>
    readonly topK: number
    readonly split?: Split
  }) => Effect.Effect<PromptLogprobs, InferenceError>
  /** A tracked session, tied to one server for as long as the scope is open. */
  readonly tracked: (options?: {
    readonly preserveThinkBlocks?: boolean
  }) => Effect.Effect<TrackedSession, InferenceError, Scope.Scope>
  /** Number of servers; what `max_num_workers_per_node` is multiplied by. */
  readonly serverCount: number
  /** Name of the model the first server serves. */
  readonly modelName: string
  readonly metrics: Effect.Effect<ReadonlyArray<ServerMetrics>>
  /** Share of each server's training slots this program may use, in (0, 1]: the `env_weight` of the trajectory service. */
  readonly setWeight: (weight: number) => Effect.Effect<void>
}

export class ServerManager extends Context.Service<ServerManager, ServerManagerShape>()(
  "@atropos/core/ServerManager"
) {}
