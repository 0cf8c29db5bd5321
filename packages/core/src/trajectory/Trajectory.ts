/**
 * Defines a trajectory: one rollout of an item, as sampled.
 *
 * `tokens`, `mask` and `logprobs` are aligned by position, unpadded and unshifted (T entries each): `mask[t]` is 1
 * where token t is trained on and 0 elsewhere; `logprobs[t]` is log p(tokens[t] | tokens[<t]) in nats under the policy
 * that sampled it, and NaN where nothing was sampled. Wires and files use other forms (`Labels`), which are converted
 * at the edge.
 */
import type { Message } from "./Message.ts"
import type { Sampling } from "./Sampling.ts"
import type { Call, Turn } from "./Timings.ts"

/**
 * Why the model stopped: end of answer (`stop`), token limit (`length`), tool call (`tool_calls`), or a server-specific
 * reason.
 */
export type FinishReason = "stop" | "length" | "tool_calls" | (string & {})

export interface Trajectory {
  /**
   * The whole chat, with the completion as its last message. For a text completion: the prompt as a user message, the
   * text as the assistant's.
   */
  readonly messages: ReadonlyArray<Message>
  /** The model's last output text. */
  readonly completion: string
  readonly finishReason: FinishReason
  /**
   * (T) token ids: prompt, completions and everything between them. Empty without a tokenizer and a token-level server.
   */
  readonly tokens: Int32Array
  /** (T) 1 where trained, 0 elsewhere. */
  readonly mask: Uint8Array
  /** (T) nats, NaN where not sampled; absent if the server reports none. */
  readonly logprobs?: Float32Array
  /** The trainer step of the weights that sampled this, if the server reports it. */
  readonly policyVersion?: number
  /** Versions per token, if weights changed while it was sampled (`VersionRuns`); `policyVersion` is the oldest. */
  readonly versionRuns?: Int32Array
  /** ((T - 1) W) experts chosen by a mixture at each position except the last, if the engine reports them. */
  readonly routedExperts?: Int32Array
  /** (T, K) ids that top-k, top-p and min-p left to choose from; empty where unknown or not sampled. */
  readonly keptTokens?: ReadonlyArray<Int32Array>
  /** Sampling parameters; absent if unknown. */
  readonly sampling?: Sampling
  /** Clock times of its requests and answers; absent if unknown. */
  readonly turns?: ReadonlyArray<Turn>
  /** Calls of tools that its agent reported, in clock times; absent if it reported none. */
  readonly calls?: ReadonlyArray<Call>
}

/** The logprob of a position that was not sampled. */
export const notSampled = Number.NaN

export const isSampled = (logprob: number): boolean => !Number.isNaN(logprob)

export const trainedTokens = ({ mask }: Pick<Trajectory, "mask">): number => {
  let count = 0
  for (const trained of mask) count += trained
  return count
}

/** True if it has fewer trained tokens than the minimum for training; always false without tokens (unknown). */
export const isTooShort = ({ mask, tokens }: Pick<Trajectory, "mask" | "tokens">, fewest: number): boolean =>
  tokens.length > 0 && trainedTokens({ mask }) < fewest

/** The mask of `length` tokens, trained from `start` on. */
export const maskFrom = (start: number, length: number): Uint8Array => new Uint8Array(length).fill(1, start)
