/**
 * What is asked of inference servers and what comes back: the vocabulary of `ServerManager`, its back ends and tracked
 * sessions.
 *
 * Everything here is re-exported by `ServerManager`, which is where users find it.
 */
import { type Effect, Schema } from "effect"
import type { Message, ToolCall } from "../../Message.ts"
import type { Figures } from "./RollingBuffer.ts"
import type { LogitBias, Sampling } from "../../Sampling.ts"
import type { FinishReason, Trajectory } from "../../Trajectory.ts"
import type { Relations } from "../session/Relation.ts"

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
  /** Divides positive logits of tokens in prompt or answer, and multiplies negative ones; 1: off. */
  readonly repetitionPenalty?: number
  /** Taken from the logits of tokens in the answer so far; 0: off. */
  readonly presencePenalty?: number
  /** The same for each time that the answer has the token. */
  readonly frequencyPenalty?: number
  /** Added to logits, by token id. */
  readonly logitBias?: LogitBias
  readonly stop?: ReadonlyArray<string>
  readonly seed?: number
  /** Default "train". */
  readonly split?: Split
  /** Keys of the server's own, merged into the request body. */
  readonly extra?: { readonly [key: string]: unknown }
}

/** Further words of an answer that is being sampled. Joined they are the beginning of what it comes to. */
export interface Piece {
  readonly content?: string
  readonly reasoning?: string
}

/** Hears an answer while it is sampled, where the server says it as it comes. */
export type Listener<A> = (heard: A) => void

/** What a client would like the model to be held to: calls that have to be made, a schema. */
export interface Wishes {
  /** Its parameters, as the client called them. */
  readonly names: ReadonlyArray<string>
  /** The same in the words of Chat Completions. */
  readonly body: { readonly [parameter: string]: unknown }
}

export interface ChatRequest extends SamplingOptions {
  readonly messages: ReadonlyArray<Message>
  readonly tools?: ReadonlyArray<unknown>
  readonly toolChoice?: unknown
  /** Leaves the configured reasoning options out of this request. */
  readonly skipReasoning?: boolean
  /** Passed on to servers that hold models to such; where tokens are asked for, nothing comes of them. */
  readonly wishes?: Wishes
  /** Of a request of one answer. Once something was heard, the request is not made again where it fails. */
  readonly onPiece?: Listener<Piece>
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
  /** The stop string that ended it, where that is known; it is no part of the text. */
  readonly stop?: string
  readonly policyVersion?: number
  /** How it was sampled, where that is known. */
  readonly sampling?: Sampling
  /** In a tracked session: the tokens of prompt and answer, where they are known. */
  readonly usage?: { readonly promptTokens: number; readonly completionTokens: number }
  /** In a tracked session: the number of this answer, in the order they came, from 0. */
  readonly turn?: number
  /**
   * In a tracked session: the number of the sequence this answer became the end of; its index in `trajectories`, where
   * no sequence is left out (see `recording`).
   */
  readonly sequence?: number
}

/** Exact ids and logprobs (nats) of one sampled completion, the end-of-sequence token included. */
export interface TokenChoice {
  readonly tokens: ReadonlyArray<number>
  readonly logprobs: ReadonlyArray<number>
  readonly finishReason: FinishReason
  readonly policyVersion?: number
  /** Of every token, where weights changed in the middle. */
  readonly policyVersions?: ReadonlyArray<number>
  /**
   * ((P + n - 1) W) the experts that a mixture chose at each position of P prompt tokens and n of the answer but its
   * last, as `ScoredGroup` has them.
   */
  readonly routedExperts?: Int32Array
  /** How it was sampled and what `logprobs` are of, where that is known. */
  readonly sampling?: Sampling
  readonly served?: Served
}

/** When the request of an answer was sent to its server, and when it came back: milliseconds since the epoch. */
export interface Served {
  readonly sent: number
  readonly answered: number
}

/**
 * Top-k logprobs of each prompt position, and that of the prompt's own token, which need not be among the k; empty
 * lists where the server reports none (the first position).
 */
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

/** What of a sequence is trained of one answer: positions `start` to before `end`. */
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
  /** Absent where the session does not know. */
  readonly turns?: ReadonlyArray<TrainedTurn>
}

/** A sequence that is not trained. */
export interface LeftOut {
  readonly sequence: number
  readonly reason: "abandoned" | "altered" | "unsound" | "unmasked"
  readonly message: string
}

/** All sequences of a session: those that can be trained, and those that cannot, with the reason. */
export interface Recording {
  readonly sequences: ReadonlyArray<RecordedSequence>
  readonly leftOut: ReadonlyArray<LeftOut>
}

/**
 * A session on one server in which every call's exact ids and logprobs are recorded: a later call that extends an
 * earlier one reuses its tokens. See `TrackedSequences`.
 */
export interface TrackedSession {
  readonly chat: (request: ChatRequest) => Effect.Effect<ReadonlyArray<Choice>, InferenceError>
  readonly complete: (request: TextRequest) => Effect.Effect<ReadonlyArray<Choice>, InferenceError>
  /**
   * The sequences recorded so far, oldest first, their invariants checked. Fails where there are some and every one of
   * them is left out.
   */
  readonly trajectories: Effect.Effect<ReadonlyArray<Trajectory>, InferenceError>
  /** The same, with what was left out and why. */
  readonly recording: Effect.Effect<Recording, InferenceError>
  /** How the requests so far related to what was recorded before. */
  readonly counts: Effect.Effect<Relations>
  /** Whether the server is told what a request wishes (`wishes`). Default: no. */
  readonly passesWishesOn?: boolean
}
