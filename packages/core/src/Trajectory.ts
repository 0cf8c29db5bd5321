/**
 * A trajectory: one rollout of an item, as sampled.
 *
 * `tokens`, `mask` and `logprobs` are aligned by position, unpadded and unshifted (T entries each): `mask[t]` is 1
 * where the trainer learns token t and 0 elsewhere; `logprobs[t]` is log p(tokens[t] | tokens[<t]) in nats under the
 * policy that sampled it, and NaN where nothing was sampled. From the engine to the micro-batch these are the only
 * forms; wires and files write them otherwise (`Labels`), and are read and written at the edge alone.
 */
import type { Message } from "./Message.ts"
import type { Sampling } from "./Sampling.ts"
import type { Turn } from "./Timings.ts"

/**
 * Why the model stopped: its own end (`stop`), the token limit (`length`), a tool call (`tool_calls`), or a server's
 * own word.
 */
export type FinishReason = "stop" | "length" | "tool_calls" | (string & {})

export interface Trajectory {
  /**
   * The whole chat, the completion as its last message. For a text completion: the prompt as a user message, the text
   * as the assistant's.
   */
  readonly messages: ReadonlyArray<Message>
  /** The text the model wrote last. */
  readonly completion: string
  readonly finishReason: FinishReason
  /**
   * (T) token ids: prompt, completions and whatever stands between them. Empty where no tokenizer and no token-level
   * server is known.
   */
  readonly tokens: Int32Array
  /** (T) 1 where trained, 0 elsewhere. */
  readonly mask: Uint8Array
  /** (T) nats, NaN where not sampled; absent where the server reports none. */
  readonly logprobs?: Float32Array
  /** The trainer step whose weights sampled this, where the server says so. */
  readonly policyVersion?: number
  /** ((T - 1) W) the experts that a mixture chose at each position but the last, where the engine says them. */
  readonly routedExperts?: Int32Array
  /** How it was sampled; absent where nobody says. */
  readonly sampling?: Sampling
  /** When its answers were asked for and came, by the clock; absent where nobody knows. */
  readonly turns?: ReadonlyArray<Turn>
}

/** The logprob of a position that was not sampled. */
export const notSampled = Number.NaN

/** Whether a logprob is that of a sampled token. */
export const isSampled = (logprob: number): boolean => !Number.isNaN(logprob)

/** Number of tokens the trainer learns from. */
export const trainedTokens = ({ mask }: Pick<Trajectory, "mask">): number => {
  let count = 0
  for (const trained of mask) count += trained
  return count
}

/** Whether it has fewer trained tokens than are worth learning from; one without tokens (none are known) never is. */
export const isTooShort = ({ mask, tokens }: Pick<Trajectory, "mask" | "tokens">, fewest: number): boolean =>
  tokens.length > 0 && trainedTokens({ mask }) < fewest

/** The mask of T tokens of which those from `start` on are trained. */
export const maskFrom = (start: number, length: number): Uint8Array => new Uint8Array(length).fill(1, start)
