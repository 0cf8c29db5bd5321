/**
 * Request and response types of the generation engine. `Engine` re-exports everything here.
 *
 * Tokens are vocabulary ids, logprobs are in nats, `policyVersion` is the number of weight updates. A logprob is log
 * softmax(logits / temperature)[token] of the model's raw logits over the whole vocabulary, before penalties, bias,
 * top-k, top-p and min-p; at temperature 0 (greedy) it is that of temperature 1. It equals what a trainer computes with
 * the same weights. The same seed, prompt and weights give the same tokens regardless of other requests.
 */
import { Schema } from "effect"

export interface Sampling {
  /** 0: greedy. */
  readonly temperature: number
  /** Sample from the smallest set of most likely tokens whose total probability reaches this; 1: all. */
  readonly topP: number
  /** Sample from this many most likely tokens; 0: all. */
  readonly topK: number
  /** Min probability relative to the most likely token; 0: all. Default 0. */
  readonly minP?: number
}

/** Changes to logits before temperature: `LogitAdjustments`. */
export interface Adjusting {
  /** Default 1: off. */
  readonly repetitionPenalty?: number
  /** Default 0: off. */
  readonly presencePenalty?: number
  /** Default 0: off. */
  readonly frequencyPenalty?: number
  /** Added to logits, by token id. Default: none. */
  readonly logitBias?: { readonly [tokenId: string]: number }
}

export interface GenerateRequest extends Sampling, Adjusting {
  /** A JSON schema, as text, that constrains sampling. The answer ends with a stop token. */
  readonly schema?: string
  readonly promptTokens: ReadonlyArray<number>
  /** Number of completions; they share one prefill. */
  readonly n: number
  readonly maxTokens: number
  /** A completion ends with the first of these, which is its last token. */
  readonly stopTokenIds: ReadonlyArray<number>
  /** For one seed, choice i at position t always draws the same random number. Default: chosen by the engine. */
  readonly seed?: number
  /**
   * Name of the weights, as given to `load`; default: the weights loaded last under any name, or the base model if none
   * were loaded.
   */
  readonly policy?: string
  /** Number of most likely alternatives reported with each token. Default 0. */
  readonly topLogprobs?: number
}

/** Token ids with their logprobs, most likely first. */
export interface Alternatives {
  readonly tokens: ReadonlyArray<number>
  readonly logprobs: ReadonlyArray<number>
}

export type FinishReason = "stop" | "length"

export interface TokenCompletion {
  readonly tokens: Int32Array
  readonly logprobs: Float32Array
  readonly finishReason: FinishReason
  /** Name of the weights that sampled its last token. */
  readonly policy: string
  /** Version of the oldest weights that sampled one of its tokens. */
  readonly policyVersion: number
  /** Version of the weights per token, if they changed during sampling. */
  readonly policyVersions?: Int32Array
  /** Prompt tokens taken from the prefix cache. */
  readonly cachedTokens?: number
  /** The experts of all positions of prompt and tokens except the last, if the model records them. */
  readonly routedExperts?: Int32Array
  /** One per token, if the request has `topLogprobs`. */
  readonly alternatives?: ReadonlyArray<Alternatives>
}

/** One sampled token of choice `index`; `finishReason` marks the choice's last. */
export interface TokenEvent {
  readonly index: number
  readonly token: number
  readonly logprob: number
  readonly policy: string
  readonly policyVersion: number
  /** See `TokenCompletion`. */
  readonly cachedTokens?: number
  /** The experts used since the previous token: of the prompt, or of that token, if recorded. */
  readonly routedExperts?: Int32Array
  readonly alternatives?: Alternatives
  readonly finishReason?: FinishReason
}

/** Requests the logprobs of given tokens instead of new ones. */
export interface ScoreRequest {
  readonly promptTokens: ReadonlyArray<number>
  /** Divides the logits. Default 1. */
  readonly temperature?: number
  /** Number of most likely alternatives at each position. Default 0. */
  readonly topLogprobs?: number
  readonly policy?: string
}

/** Entry t is for promptTokens[t] given the tokens before it; entry 0 has logprob 0 and no alternatives. */
export interface PromptLogprobs {
  readonly logprobs: Float32Array
  readonly alternatives: ReadonlyArray<Alternatives>
  readonly policy: string
  readonly policyVersion: number
}

/** A prompt plus its requested tokens exceeds the model's or the engine's memory limit. */
export class PromptTooLong extends Schema.TaggedError<PromptTooLong>()("PromptTooLong", {
  promptTokens: Schema.Int,
  maxTokens: Schema.Int,
  /** Prompt and completion together. */
  limitTokens: Schema.Int
}) {
  override get message() {
    return `a prompt of ${this.promptTokens} tokens and up to ${this.maxTokens} new ones exceed the limit of ${this.limitTokens} tokens`
  }
}

/** An invalid request: a token outside the vocabulary, a negative temperature, … */
export class InvalidRequest extends Schema.TaggedError<InvalidRequest>()("InvalidRequest", {
  field: Schema.String,
  message: Schema.String
}) {}

export class UnknownPolicy extends Schema.TaggedError<UnknownPolicy>()("UnknownPolicy", {
  policy: Schema.String,
  loaded: Schema.Array(Schema.String)
}) {
  override get message() {
    return `no policy "${this.policy}" is loaded; loaded are: ${this.loaded.join(", ")}`
  }
}

export class EngineOverloaded extends Schema.TaggedError<EngineOverloaded>()("EngineOverloaded", {
  waiting: Schema.Int,
  retryAfterMillis: Schema.Finite
}) {
  override get message() {
    return `${this.waiting} completions are already waiting; retry in ${this.retryAfterMillis} ms`
  }
}

/**
 * The engine's thread failed: all its requests fail with this, and a new thread is started. Or the requested weights
 * have NaN or infinite logits, which only affects their requests.
 */
export class EngineFailed extends Schema.TaggedError<EngineFailed>()("EngineFailed", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

export const EngineError = Schema.Union([PromptTooLong, InvalidRequest, UnknownPolicy, EngineOverloaded, EngineFailed])
export type EngineError = typeof EngineError.Type

/** An error as sent from the engine's thread: plain data, without its class. */
export type PlainError = typeof EngineError.Encoded

export const toPlain = Schema.encodeSync(EngineError)
export const fromPlain = Schema.decodeSync(EngineError)

/** Weights the engine holds: the newest of each name, and older ones that requests still use. */
export interface LoadedPolicy {
  readonly policy: string
  readonly policyVersion: number
  readonly running: number
}

export interface EngineStatus {
  /** Completions that hold a row. */
  readonly running: number
  readonly waiting: number
  /** Sampled tokens per second, over the last seconds. */
  readonly tokensPerSecond: number
  readonly generatedTokens: number
  readonly promptTokens: number
  /** Prompt tokens taken from the prefix cache. */
  readonly cachedPromptTokens: number
  /** Speculated tokens, and the accepted ones among them. */
  readonly guessedTokens: number
  readonly acceptedGuesses: number
  readonly kvBytes: number
  readonly kvLimitBytes: number
  readonly prefixBytes: number
  readonly policies: ReadonlyArray<LoadedPolicy>
  readonly restarts: number
}
