/** The interface of a session for the program that opens it. */
import { type Effect, Schema } from "effect"
import type { ChatRequest, InferenceError, Recording, SamplingOptions } from "../../inference/wire/Inference.ts"
import type { TokenizerIdentity } from "../../inference/tokenizer/TokenizerIdentity.ts"
import type { Message } from "../../trajectory/Message.ts"
import type { Trajectory } from "../../trajectory/Trajectory.ts"

export class GatewayError extends Schema.TaggedError<GatewayError>()("GatewayError", { message: Schema.String }) {}

export interface SessionOptions {
  /** Sampling parameters for requests that do not set them. */
  readonly defaults?: SamplingOptions
  /** Sampling parameters that override every request. Requests that set them differently are counted. */
  readonly enforced?: SamplingOptions
  /**
   * Makes a session reproducible: request k is sampled with a seed derived from this and k, or from this and the
   * request's own seed, which is then counted as overridden.
   */
  readonly seed?: number
  /** Selects the requests whose answers are trained; the others are recorded and masked. Default: all. */
  readonly trained?: (request: SelectedRequest) => boolean
}

export interface SelectedRequest extends Pick<ChatRequest, "messages" | "tools"> {
  /** True if it names another model than the session's first request that offers tools. */
  readonly isForOtherModel: boolean
}

/** A reported reward of an agent, with separate components. */
export interface ReportedReward {
  readonly rewards: { readonly [component: string]: number }
  /** The answer it is for (its number in the session, as in `recording`); absent: the whole session. */
  readonly turn?: number
}

/** A conversation of a session, with the rewards that count for it. */
export interface Conversation {
  readonly recording: Recording
  readonly rewards: ReadonlyArray<ReportedReward>
}

/** Number of requests by their relation to earlier ones. */
export interface SessionCounts {
  readonly extended: number
  readonly branched: number
  readonly retried: number
  readonly rewritten: number
  readonly started: number
  /** Ignored parameters, by the dialect's names. */
  readonly ignored: { readonly [parameter: string]: number }
  /** Parameters overridden by `enforced` or the session's seed, by our names. */
  readonly overridden: { readonly [parameter: string]: number }
  /** Requests that were not carried out as sent, by the change: `image_as_text`, `max_tokens_cut`, and of roles. */
  readonly adapted: { readonly [change: string]: number }
  /** Answered requests that are not trained (`trained`). */
  readonly untrained: number
  readonly failed: { readonly [reason: string]: number }
  /** Requests whose client disconnected during sampling. */
  readonly cancelled: number
}

export interface Session {
  /** May be logged; only the URLs contain the secret. */
  readonly id: string
  /** `http://127.0.0.1:PORT/s/<secret>/v1`: the base URL for OpenAI's SDKs. */
  readonly baseURL: string
  /** `http://127.0.0.1:PORT/s/<secret>`: the base URL for Anthropic's. */
  readonly anthropicBaseURL: string
  readonly rewardURL: string
  /** Any value works; SDKs require one. */
  readonly apiKey: string
  readonly modelName: string
  /** Max tokens of a prompt and its answer, if known. */
  readonly contextLength?: number
  /** The tokenizer of the recorded ids, if known. */
  readonly tokenizer?: TokenizerIdentity
  /** The sequences recorded so far, one per path from a root to a leaf. */
  readonly trajectories: Effect.Effect<ReadonlyArray<Trajectory>, InferenceError>
  /** Like `trajectories`, with the answers that each one trains, and exclusions with their reasons. */
  readonly recording: Effect.Effect<Recording, InferenceError>
  /** The session as its conversations; only rewards that were reported by the id of an answer divide it. */
  readonly conversations: Effect.Effect<ReadonlyArray<Conversation>, InferenceError>
  readonly messages: Effect.Effect<ReadonlyArray<Message>>
  readonly rewards: Effect.Effect<ReadonlyArray<ReportedReward>>
  readonly counts: Effect.Effect<SessionCounts>
  /** Failures behind the gateway, as reported to the agent: excludes its own mistakes and prompts that are too long. */
  readonly failures: Effect.Effect<ReadonlyArray<InferenceError>>
  /** The response to the last rejected or failed request, if any. */
  readonly lastFailure: Effect.Effect<string | undefined>
}
