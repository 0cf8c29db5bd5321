/**
 * A trajectory: one rollout of an item, as sampled.
 *
 * `tokens`, `mask` and `logprobs` are aligned by position, unpadded and unshifted (T entries each): `mask[t]` is
 * `tokens[t]` where the trainer learns and -100 elsewhere; `logprobs[t]` is log p(tokens[t] | tokens[<t]) in nats under
 * the policy that sampled it, and 1 (an impossible value, kept as the wire's marker) where nothing was sampled.
 */
import type { Message } from "./Message.ts"
import type { Sampling } from "./Sampling.ts"

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
  /** (T) the token id where trained, -100 elsewhere. */
  readonly mask: Int32Array
  /** (T) nats, 1 where not sampled; absent where the server reports none. */
  readonly logprobs?: Float32Array
  /** The trainer step whose weights sampled this, where the server says so. */
  readonly policyVersion?: number
  /** How it was sampled; absent where nobody says. */
  readonly sampling?: Sampling
}

/** The mask value of a position the trainer does not learn from. */
export const masked = -100

/** The logprob value of a position that was not sampled. */
export const notSampled = 1

/** Number of tokens the trainer learns from. */
export const trainedTokens = ({ mask }: Pick<Trajectory, "mask">): number => {
  let count = 0
  for (const label of mask) if (label !== masked) count++
  return count
}
