/**
 * A scored group: the trajectories of one item with their scores, as the trajectory service stores it and the trainer
 * gets it.
 *
 * G sequences, T_i tokens each (ragged), K teacher candidates per position (ragged). Number arrays are typed arrays
 * here, in the one form that they have from the engine to the micro-batch (`Trajectory`); JSON arrays on the original's
 * wire (`WireGroup`), and packed binary on ours (`PackedGroup`), where masks are labels and 1 says that nothing was
 * sampled (`Labels`). Field meanings follow the original's `ScoredData` (atroposlib/api/server.py).
 */
import type { Message } from "./Message.ts"
import type { Rewards } from "./RewardComponents.ts"
import type { Timings } from "./Timings.ts"

/**
 * Free-form switches for trainers, kept untouched (`set_advantage_to_zero`, `finish_reason`, `temperature`, `sft`,
 * `group_size`, …).
 */
export type Overrides = { readonly [key: string]: unknown }

export interface ScoredGroup {
  /** (G, T_i) whole sequences, unpadded, unshifted. */
  readonly tokens: ReadonlyArray<Int32Array>
  /** (G, T_i) 1 where trained, 0 elsewhere. */
  readonly masks: ReadonlyArray<Uint8Array>
  /** (G) the environment's raw scores. */
  readonly scores: Float64Array
  /** (G, T_i) token-level advantages that replace score-derived ones. */
  readonly advantages?: ReadonlyArray<Float32Array>
  /** (G, T_i) nats under the reference policy. */
  readonly refLogprobs?: ReadonlyArray<Float32Array>
  /** (G, T_i) nats under the sampling policy, NaN where not sampled. */
  readonly inferenceLogprobs?: ReadonlyArray<Float32Array>
  /** (G, messages) the chats. */
  readonly messages?: ReadonlyArray<ReadonlyArray<Message>>
  readonly generationParams?: Overrides
  /** (G) per-sequence switches. */
  readonly overrides?: ReadonlyArray<Overrides>
  readonly groupOverrides?: Overrides
  /** (G) what each score is made of, where the environment keeps that apart; on wires in `overrides`. */
  readonly rewards?: ReadonlyArray<Rewards>
  /** Multimodal payload, usually one entry per sequence (base64 or data URLs); carried untouched. */
  readonly images?: unknown
  readonly envId?: number
  /** (G, T_i, K) the teacher's top token ids for each position. */
  readonly distillTokenIds?: ReadonlyArray<ReadonlyArray<Int32Array>>
  /** (G, T_i, K) the teacher's logprobs (nats) of those ids. */
  readonly distillLogprobs?: ReadonlyArray<ReadonlyArray<Float32Array>>
  /** (G) trainer step whose weights sampled each sequence; not on the original's wire. */
  readonly policyVersions?: ReadonlyArray<number | null>
  /** (G) when the turns of each rollout happened, null where nobody knows; not on the original's wire. */
  readonly timings?: ReadonlyArray<Timings | null>
  /** (G) whether each score counts as solved, by its environment; not on the original's wire. */
  readonly solved?: ReadonlyArray<boolean>
  /**
   * (G, (T_i - 1) W_i) the experts that a mixture chose at each position but the last, in whole words that its trainer
   * reads (`RoutedExperts`); empty where unknown. Not on the original's wire.
   */
  readonly routedExperts?: ReadonlyArray<Int32Array>
  /** The lasting id of its item: the same whenever that comes; not on the original's wire. */
  readonly itemId?: string
  /** Where in its trace the group was sent (`Trace`); not on the original's wire. */
  readonly traceparent?: string
}

/** Number of sequences, G. */
export const size = ({ tokens }: Pick<ScoredGroup, "tokens">): number => tokens.length

/** Number of tokens over all sequences. */
export const tokenCount = ({ tokens }: Pick<ScoredGroup, "tokens">): number =>
  tokens.reduce((sum, sequence) => sum + sequence.length, 0)
