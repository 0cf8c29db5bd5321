/**
 * Requests to inference servers and their answers: the types of `ServerManager`, its backends and tracked sessions.
 *
 * Re-exported by `ServerManager`, which is the public entry point.
 */
import { type Effect, Schema } from "effect"
import type { Message, ToolCall } from "../../trajectory/Message.ts"
import type { Figures } from "./RollingBuffer.ts"
import type { Sampling } from "../../trajectory/Sampling.ts"
import type { SamplingSettings } from "../../trajectory/SamplingSettings.ts"
import type { FinishReason, Trajectory } from "../../trajectory/Trajectory.ts"
import type { Relations } from "../session/Relation.ts"

/** Kinds of failure of a request to an inference server. */
export const InferenceFailure = Schema.Literals([
  "unreachable", // no connection, or it broke
  "timeout", // no answer in time
  "overloaded", // 429, 503: retry later
  "rejected", // any other 4xx: a retry will not help
  "failed", // 5xx
  "malformed", // an answer that violates the protocol
  "unsupported", // this backend does not support the request
  "noRoom", // the prompt fills the max sequence length: no tokens are left for an answer
  "noServer" // no healthy server within the time limit
])
export type InferenceFailure = typeof InferenceFailure.Type

export class InferenceError extends Schema.TaggedError<InferenceError>()("InferenceError", {
  reason: InferenceFailure,
  /** Base URL of the server, or what was looked for. */
  server: Schema.String,
  message: Schema.String,
  status: Schema.optionalKey(Schema.Int),
  /** The server's Retry-After, in milliseconds. */
  retryAfterMillis: Schema.optionalKey(Schema.Finite),
  cause: Schema.optionalKey(Schema.Defect())
}) {}

/** Training and evaluation requests have separate limits. */
export type Split = "train" | "eval"

export interface SamplingOptions extends SamplingSettings {
  /** Number of completions. Default 1. */
  readonly n?: number
  /** Default "train". */
  readonly split?: Split
  /** Server-specific keys, merged into the request body. */
  readonly extra?: { readonly [key: string]: unknown }
}

/** A delta of an answer being sampled. All deltas together are a prefix of the complete answer. */
export interface Delta {
  readonly content?: string
  readonly reasoning?: string
}

/** Receives an answer during sampling, if the server streams it. */
export type DeltaHandler<A> = (delta: A) => void

/** Output constraints requested by a client: required calls, a schema. */
export interface OutputConstraints {
  /** The parameters, as named by the client. */
  readonly names: ReadonlyArray<string>
  /** As Chat Completions parameters. */
  readonly body: { readonly [parameter: string]: unknown }
}

export interface ChatRequest extends SamplingOptions {
  readonly messages: ReadonlyArray<Message>
  readonly tools?: ReadonlyArray<unknown>
  readonly toolChoice?: unknown
  /** In a tracked session: false masks the answer. Default true. */
  readonly isTrained?: boolean
  /** Omits the configured reasoning options from this request. */
  readonly skipReasoning?: boolean
  /** Passed on to servers that support output constraints; ignored by token-level requests. */
  readonly constraints?: OutputConstraints
  /** For requests of one answer. Once it was called, the request is not retried. */
  readonly onDelta?: DeltaHandler<Delta>
}

export interface TextRequest extends SamplingOptions {
  readonly prompt: string
}

/** Token-level request: the prompt is sent as ids, so the server tokenizes nothing. */
export interface TokensRequest extends SamplingOptions {
  readonly inputIds: ReadonlyArray<number>
}

/** A prompt whose logprobs are requested at every position. */
export interface PromptRequest {
  readonly inputIds: ReadonlyArray<number>
  /** At least 1. */
  readonly topK: number
  readonly split?: Split
}

/** One answer. `message.content` holds the text; token fields are present if the server reports them. */
export interface Choice {
  readonly message: Message
  readonly text: string
  readonly toolCalls: ReadonlyArray<ToolCall>
  readonly finishReason: FinishReason
  /** The stop string that ended it, if known; not part of the text. */
  readonly stop?: string
  readonly policyVersion?: number
  /** Sampling parameters, if known. */
  readonly sampling?: Sampling
  /** In a tracked session: the tokens of prompt and answer, if known. */
  readonly usage?: { readonly promptTokens: number; readonly completionTokens: number }
  /** In a tracked session: the number of this answer, in order of arrival, from 0. */
  readonly turn?: number
  /**
   * In a tracked session: the number of the sequence this answer ends; its index in `trajectories` if no sequence is
   * excluded (see `recording`).
   */
  readonly sequence?: number
}

/** Exact ids and logprobs (nats) of one sampled completion, including the end-of-sequence token. */
export interface TokenChoice {
  readonly tokens: ReadonlyArray<number>
  readonly logprobs: ReadonlyArray<number>
  readonly finishReason: FinishReason
  readonly policyVersion?: number
  /** Per token, if weights changed in the middle; undefined where unknown. */
  readonly policyVersions?: ReadonlyArray<number | undefined>
  /**
   * ((P + n - 1) W) experts chosen by a mixture at each position of P prompt tokens and n of the answer except its
   * last, in the form of `ScoredGroup`.
   */
  readonly routedExperts?: Int32Array
  /** Per token the ids that top-k, top-p and min-p left to choose from, if the server reports them. */
  readonly keptTokens?: ReadonlyArray<ReadonlyArray<number>>
  /** Sampling parameters and the mode of `logprobs`, if known. */
  readonly sampling?: Sampling
  readonly served?: Served
}

/** When a request was sent to its server and answered: milliseconds since the epoch. */
export interface Served {
  readonly sent: number
  readonly answered: number
}

/**
 * Top-k logprobs of each prompt position, and that of the prompt's own token, which need not be among the k; empty
 * lists if the server reports none (the first position).
 */
export interface PromptLogprobs {
  readonly promptTokens: ReadonlyArray<number>
  readonly topTokenIds: ReadonlyArray<ReadonlyArray<number>>
  readonly topLogprobs: ReadonlyArray<ReadonlyArray<number>>
}

/** Metrics of one server over its rolling buffer. */
export interface ServerMetrics extends Figures {
  readonly server: string
  readonly healthy: boolean
  readonly split: Split
  readonly inFlight: number
  /** Max requests in flight; infinite in this process. */
  readonly limit: number
}

/** The trained positions of one answer in a sequence: `start` to before `end`. */
export interface TrainedTurn {
  /** `Choice.turn`. */
  readonly turn: number
  readonly start: number
  readonly end: number
}

export interface RecordedSequence {
  /** `Choice.sequence` of its last answer. */
  readonly sequence: number
  readonly trajectory: Trajectory
  /** Absent if unknown to the session. */
  readonly turns?: ReadonlyArray<TrainedTurn>
}

/** A sequence that is not trained. */
export interface LeftOut {
  readonly sequence: number
  readonly reason: "abandoned" | "altered" | "unsound" | "unmasked" | "untrained"
  readonly message: string
}

/** All sequences of a session: trainable ones, and excluded ones with the reason. */
export interface Recording {
  readonly sequences: ReadonlyArray<RecordedSequence>
  readonly leftOut: ReadonlyArray<LeftOut>
}

export interface RecordedBranch {
  readonly recording: Recording
  readonly rated: ReadonlyArray<number>
}

/**
 * A session on one server that records every call's exact ids and logprobs: a later call that extends an earlier one
 * reuses its tokens. See `TrackedSequences`.
 */
export interface TrackedSession {
  readonly chat: (request: ChatRequest) => Effect.Effect<ReadonlyArray<Choice>, InferenceError>
  readonly complete: (request: TextRequest) => Effect.Effect<ReadonlyArray<Choice>, InferenceError>
  /**
   * The sequences recorded so far, oldest first, with verified invariants. Fails if there are some and all of them are
   * excluded.
   */
  readonly trajectories: Effect.Effect<ReadonlyArray<Trajectory>, InferenceError>
  /** Like `trajectories`, with exclusions and their reasons. */
  readonly recording: Effect.Effect<Recording, InferenceError>
  /** The conversations that branch in the session, with the rated answers (`Choice.turn`) of each: see `Branches`. */
  readonly branches: (rated: ReadonlySet<number>) => Effect.Effect<ReadonlyArray<RecordedBranch>>
  /** Numbers of requests so far, by their relation to earlier ones. */
  readonly counts: Effect.Effect<Relations>
  /** Max tokens of a prompt and its answer on the server, once known. */
  readonly contextLength?: number | undefined
  /** True if output constraints of a request (`constraints`) are passed on to the server. Default: no. */
  readonly passesConstraintsOn?: boolean
  /** True if the pictures of a chat are passed on to the server. Default: no: token ids cannot represent them. */
  readonly takesPictures?: boolean
}
