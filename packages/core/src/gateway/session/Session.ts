/** What whoever opens a session sets, holds and reads. */
import { type Effect, Schema } from "effect"
import type { InferenceError, Recording, SamplingOptions } from "../../inference/backend/Inference.ts"
import type { TokenizerIdentity } from "../../inference/tokenizer/TokenizerIdentity.ts"
import type { Message } from "../../Message.ts"
import type { Trajectory } from "../../Trajectory.ts"

/** The gateway takes no further session. */
export class GatewayError extends Schema.TaggedError<GatewayError>()("GatewayError", { message: Schema.String }) {}

export interface SessionOptions {
  /** What a request that says nothing is sampled with. */
  readonly defaults?: SamplingOptions
  /** What every request is sampled with, whatever it says. A request that said otherwise is counted. */
  readonly enforced?: SamplingOptions
  /**
   * Makes a session repeatable: request k is sampled with a seed made of this and k, or of this and the seed that the
   * request brings, which is then counted as overruled.
   */
  readonly seed?: number
}

/** What an agent was worth, as it was reported; components are kept apart. */
export interface ReportedReward {
  readonly rewards: { readonly [component: string]: number }
  /** The answer it is about (its number in the session, as in `recording`); absent: the whole session. */
  readonly turn?: number
}

/** How a session's requests related to what was recorded before. */
export interface SessionCounts {
  readonly extended: number
  readonly branched: number
  readonly retried: number
  readonly rewritten: number
  readonly started: number
  /** Parameters that were passed over, by the dialect's names. */
  readonly ignored: { readonly [parameter: string]: number }
  /** Parameters that `enforced` or the session's seed set otherwise than the request, by our names. */
  readonly overruled: { readonly [parameter: string]: number }
  /** Requests that got no answer, by the reason of their failure. */
  readonly failed: { readonly [reason: string]: number }
  /** Requests that went away while they were sampled. */
  readonly cancelled: number
}

export interface Session {
  /** May be logged; the secret is in the URLs alone. */
  readonly id: string
  /** `http://127.0.0.1:PORT/s/<secret>/v1`: what OpenAI's SDKs take. */
  readonly baseURL: string
  /** `http://127.0.0.1:PORT/s/<secret>`: what Anthropic's take. */
  readonly anthropicBaseURL: string
  /** Where rewards are reported by POST. */
  readonly rewardURL: string
  /** Any key will do; SDKs want one. */
  readonly apiKey: string
  readonly modelName: string
  /** What the recorded ids mean, where that is known. */
  readonly tokenizer?: TokenizerIdentity
  /** The sequences recorded so far, one for each path from a root to a leaf. */
  readonly trajectories: Effect.Effect<ReadonlyArray<Trajectory>, InferenceError>
  /** The same, with the answers that each of them trains, and what is left out and why. */
  readonly recording: Effect.Effect<Recording, InferenceError>
  /** The longest chat so far. */
  readonly messages: Effect.Effect<ReadonlyArray<Message>>
  readonly rewards: Effect.Effect<ReadonlyArray<ReportedReward>>
  readonly counts: Effect.Effect<SessionCounts>
  /** What went wrong behind the gateway, as the agent was told: not its own mistakes, nor a prompt without room. */
  readonly failures: Effect.Effect<ReadonlyArray<InferenceError>>
  /** What the last request that was refused or failed was answered, if one was. */
  readonly lastFailure: Effect.Effect<string | undefined>
}
