/**
 * What the generation engine takes and gives. `Engine` re-exports everything here.
 *
 * Units: tokens are ids of the model's vocabulary, logprobs are in nats, `policyVersion` is the number of updates the
 * weights have seen. A logprob is log softmax(logits / temperature)[token] of the model's own logits over the whole
 * vocabulary: before penalties and bias change them, and before top-k, top-p and min-p cut anything off; at temperature
 * 0 (greedy) it is that of temperature 1. It is what a trainer computes of the same weights, whatever was drawn from.
 * The same seed, prompt and weights give the same tokens whatever else is running.
 */
import { Schema } from "effect"

/** How a token is drawn from a distribution. */
export interface Sampling {
  /** 0: the most likely token. */
  readonly temperature: number
  /** Smallest set of most likely tokens whose probability reaches this; 1: all. */
  readonly topP: number
  /** This many most likely tokens; 0: all. */
  readonly topK: number
  /** Tokens at least this share as likely as the likeliest; 0: all. Default 0. */
  readonly minP?: number
}

/** What is done to logits before temperature: `LogitAdjustments`. */
export interface Adjusting {
  /** Default 1: off. */
  readonly repetitionPenalty?: number
  /** Default 0: off. */
  readonly presencePenalty?: number
  /** Default 0: off. */
  readonly frequencyPenalty?: number
  /** Added, by token id. Default: none. */
  readonly logitBias?: { readonly [tokenId: string]: number }
}

export interface GenerateRequest extends Sampling, Adjusting {
  /** A JSON schema, as text: drawn are tokens that an answer to it may go on with. It ends by a stop token. */
  readonly schema?: string
  readonly promptTokens: ReadonlyArray<number>
  /** Completions wanted; they share one pass over the prompt. */
  readonly n: number
  readonly maxTokens: number
  /** A completion ends with the first of these; it is the last of its tokens. */
  readonly stopTokenIds: ReadonlyArray<number>
  /** Choice i at position t draws the same number for the same seed. Default: one of the engine's own. */
  readonly seed?: number
  /** Name of the weights, as given to `load`; default: the newest of any name, the base model where none was loaded. */
  readonly policy?: string
  /** Most likely alternatives reported with each token. Default 0. */
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
  /** Whose weights drew its last token. */
  readonly policy: string
  /** Of the oldest weights that drew one of its tokens. */
  readonly policyVersion: number
  /** Of the weights that drew each token, where they changed in the middle. */
  readonly policyVersions?: Int32Array
  /** Tokens of the prompt that did not go through the model: others before began with them. */
  readonly cachedTokens?: number
  /** The experts of all positions of prompt and tokens but the last, where the model writes them down. */
  readonly routedExperts?: Int32Array
  /** One for each token, where the request has `topLogprobs`. */
  readonly alternatives?: ReadonlyArray<Alternatives>
}

/** One sampled token of choice `index`; `finishReason` says that it is the choice's last. */
export interface TokenEvent {
  readonly index: number
  readonly token: number
  readonly logprob: number
  readonly policy: string
  readonly policyVersion: number
  /** As in `TokenCompletion`. */
  readonly cachedTokens?: number
  /** The experts of what went through the model since the token before: of the prompt, or of that token. */
  readonly routedExperts?: Int32Array
  readonly alternatives?: Alternatives
  readonly finishReason?: FinishReason
}

/** Asks for the logprobs of given tokens instead of new ones. */
export interface ScoreRequest {
  readonly promptTokens: ReadonlyArray<number>
  /** Divides the logits. Default 1. */
  readonly temperature?: number
  /** Most likely alternatives at each position. Default 0. */
  readonly topLogprobs?: number
  readonly policy?: string
}

/** Position t is about promptTokens[t] given those before it; position 0 has logprob 0 and no alternatives. */
export interface PromptLogprobs {
  readonly logprobs: Float32Array
  readonly alternatives: ReadonlyArray<Alternatives>
  readonly policy: string
  readonly policyVersion: number
}

/** A prompt, with the tokens wanted after it, that is longer than the model or the engine's memory allows. */
export class PromptTooLong extends Schema.TaggedError<PromptTooLong>()("PromptTooLong", {
  promptTokens: Schema.Int,
  maxTokens: Schema.Int,
  /** Prompt and completion together. */
  limitTokens: Schema.Int
}) {
  override get message() {
    return `a prompt of ${this.promptTokens} tokens and up to ${this.maxTokens} new ones do not fit into ${this.limitTokens} tokens`
  }
}

/** A request that cannot be understood: a token outside the vocabulary, a negative temperature, … */
export class InvalidRequest extends Schema.TaggedError<InvalidRequest>()("InvalidRequest", {
  field: Schema.String,
  message: Schema.String
}) {}

/** No weights of that name are loaded. */
export class UnknownPolicy extends Schema.TaggedError<UnknownPolicy>()("UnknownPolicy", {
  policy: Schema.String,
  loaded: Schema.Array(Schema.String)
}) {
  override get message() {
    return `no policy "${this.policy}" is loaded; there are: ${this.loaded.join(", ")}`
  }
}

/** The queue is full: ask again later. */
export class EngineOverloaded extends Schema.TaggedError<EngineOverloaded>()("EngineOverloaded", {
  waiting: Schema.Int,
  retryAfterMillis: Schema.Finite
}) {
  override get message() {
    return `${this.waiting} completions are waiting already; try again in ${this.retryAfterMillis} ms`
  }
}

/**
 * The engine's thread failed: every request in it fails with this, and a new thread is started. Or the weights that
 * were asked have logits that are not finite, which concerns their requests alone.
 */
export class EngineFailed extends Schema.TaggedError<EngineFailed>()("EngineFailed", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

export const EngineError = Schema.Union([PromptTooLong, InvalidRequest, UnknownPolicy, EngineOverloaded, EngineFailed])
export type EngineError = typeof EngineError.Type

/** An error as it crosses from the engine's thread: plain data, without its class. */
export type PlainError = typeof EngineError.Encoded

export const toPlain = Schema.encodeSync(EngineError)
export const fromPlain = Schema.decodeSync(EngineError)

/** Weights the engine holds: the newest of each name, and older ones that requests still run on. */
export interface LoadedPolicy {
  readonly policy: string
  readonly policyVersion: number
  readonly running: number
}

export interface EngineStatus {
  /** Completions that hold a row. */
  readonly running: number
  /** Completions that wait for one. */
  readonly waiting: number
  /** Sampled tokens a second over the last seconds. */
  readonly tokensPerSecond: number
  readonly generatedTokens: number
  /** Prompt tokens that went through the model. */
  readonly promptTokens: number
  /** Those that did not have to: prompts before began with them. */
  readonly cachedPromptTokens: number
  /** Tokens guessed ahead, and those of them that were drawn. */
  readonly guessedTokens: number
  readonly acceptedGuesses: number
  readonly kvBytes: number
  readonly kvLimitBytes: number
  /** Keys and values of prompts that are kept for others. */
  readonly prefixBytes: number
  readonly policies: ReadonlyArray<LoadedPolicy>
  /** Times the thread was started again after a failure. */
  readonly restarts: number
}
