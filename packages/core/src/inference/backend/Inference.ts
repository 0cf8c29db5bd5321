/**
 * What is asked of inference servers and what comes back: the vocabulary of `ServerManager`, its back ends and tracked
 * sessions.
 *
 * Everything here is re-exported by `ServerManager`, which is where users find it.
 */
import { type Effect, Schema } from "effect"
import type { Message, ToolCall } from "../../Message.ts"
import type { Figures } from "./RollingBuffer.ts"
import type { Sampling } from "../../Sampling.ts"
import type { FinishReason, Trajectory } from "../../Trajectory.ts"

/** What went wrong at the boundary to an inference server. */
export const InferenceFailure = Schema.Literals([
  "unreachable", // no connection, or it broke
  "timeout", // no answer in time
  "overloaded", // 429, 503: asked to come back later
  "rejected", // any other 4xx: asking again will not help
  "failed", // 5xx
  "malformed", // an answer that is not what the protocol says
  "unsupported", // this back end cannot do what was asked
  "noRoom", // the prompt fills the longest sequence: nothing can be asked for
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
  /** This many likeliest tokens; 0: all. */
  readonly topK?: number
  /** Least probability as a share of the likeliest token's; 0: all. */
  readonly minP?: number
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

/** A prompt of which every position's logprobs are asked for. */
export interface PromptRequest {
  readonly inputIds: ReadonlyArray<number>
  /** At least 1. */
  readonly topK: number
  readonly split?: Split
}

/** One answer. `message.content` holds the text; token fields are present where the server reports them. */
export interface Choice {
  readonly message: Message
  readonly text: string
  readonly toolCalls: ReadonlyArray<ToolCall>
  readonly finishReason: FinishReason
  readonly policyVersion?: number
  /** How it was sampled, where that is known. */
  readonly sampling?: Sampling
  /** In a tracked session: the index, in its `trajectories`, of the sequence this answer became the end of. */
  readonly sequence?: number
  /** In a tracked session: the tokens of prompt and answer, where they are known. */
  readonly usage?: { readonly promptTokens: number; readonly completionTokens: number }
}

/** Exact ids and logprobs (nats) of one sampled completion, the end-of-sequence token included. */
export interface TokenChoice {
  readonly tokens: ReadonlyArray<number>
  readonly logprobs: ReadonlyArray<number>
  readonly finishReason: FinishReason
  readonly policyVersion?: number
  /** How it was sampled and what `logprobs` are of, where that is known. */
  readonly sampling?: Sampling
}

/** Top-k logprobs of each prompt position; empty lists where the server reports none (the first position). */
export interface PromptLogprobs {
  readonly promptTokens: ReadonlyArray<number>
  readonly topTokenIds: ReadonlyArray<ReadonlyArray<number>>
  readonly topLogprobs: ReadonlyArray<ReadonlyArray<number>>
}

/** Figures of one server over its rolling buffer. */
export interface ServerMetrics extends Figures {
  readonly server: string
  readonly healthy: boolean
  readonly split: Split
  readonly inFlight: number
}

/** How the calls of a session related to what was recorded before. */
export interface TrackedCounts {
  /** Went on where a sequence ended. */
  readonly extended: number
  /** Went on from the middle of one. */
  readonly branched: number
  /** Asked again what had been answered. */
  readonly retried: number
  /** Changed what had been said, and so became sequences of their own. */
  readonly rewritten: number
  /** Began a chat. */
  readonly started: number
}

/**
 * A session on one server in which every call's exact ids and logprobs are recorded: a later call that extends an
 * earlier one reuses its tokens. See `TrackedSequences`.
 */
export interface TrackedSession {
  readonly chat: (request: ChatRequest) => Effect.Effect<ReadonlyArray<Choice>, InferenceError>
  readonly complete: (request: TextRequest) => Effect.Effect<ReadonlyArray<Choice>, InferenceError>
  /** The sequences recorded so far, oldest first, their invariants checked. */
  readonly trajectories: Effect.Effect<ReadonlyArray<Trajectory>, InferenceError>
  readonly counts?: Effect.Effect<TrackedCounts>
}
