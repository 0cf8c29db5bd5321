/**
 * Defines a scored group: the trajectories of one item with their scores, as stored by the trajectory service and sent
 * to the trainer.
 *
 * G sequences, T_i tokens each (ragged), K teacher candidates per position (ragged). Number arrays are typed arrays, in
 * one form from the engine to the micro-batch (`Trajectory`); wires use JSON arrays (`WireGroup`, the original's) or
 * packed binary (`PackedGroup`), with labels for masks and 1 for tokens that were not sampled (`Labels`). Field
 * meanings follow the original's `ScoredData` (atroposlib/api/server.py).
 */
import type { Message } from "./Message.ts"
import type { Timings } from "./Timings.ts"

/**
 * Free-form switches for trainers, passed through unchanged (`set_advantage_to_zero`, `finish_reason`, `temperature`,
 * `sft`, `group_size`, …).
 */
export type Overrides = { readonly [key: string]: unknown }

/** Components of a score: raw unweighted values by name. */
export type Rewards = { readonly [component: string]: number }

export interface ScoredGroup {
  /** (G, T_i) complete sequences, unpadded, unshifted. */
  readonly tokens: ReadonlyArray<Int32Array>
  /** (G, T_i) 1 where trained, 0 elsewhere. */
  readonly masks: ReadonlyArray<Uint8Array>
  /** (G) the environment's raw scores. */
  readonly scores: Float64Array
  /** (G, T_i) token-level advantages, which override score-derived ones. */
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
  /** (G) components of each score, if the environment keeps them separate; in `overrides` on the wire. */
  readonly rewards?: ReadonlyArray<Rewards>
  /** Multimodal payload, usually one entry per sequence (base64 or data URLs); passed through unchanged. */
  readonly images?: unknown
  readonly envId?: number
  /** (G, T_i, K) the teacher's top token ids for each position. */
  readonly distillTokenIds?: ReadonlyArray<ReadonlyArray<Int32Array>>
  /** (G, T_i, K) the teacher's logprobs (nats) of those ids. */
  readonly distillLogprobs?: ReadonlyArray<ReadonlyArray<Float32Array>>
  /** (G) trainer step of the weights that sampled each sequence; not on the original's wire. */
  readonly policyVersions?: ReadonlyArray<number | null>
  /** (G) versions per token where weights changed during a sequence (`VersionRuns`), else empty; not on its wire. */
  readonly versionRuns?: ReadonlyArray<Int32Array>
  /** (G) timings of each rollout's turns, null if unknown; not on the original's wire. */
  readonly timings?: ReadonlyArray<Timings | null>
  /** (G) true if the environment counts the score as solved; not on the original's wire. */
  readonly solved?: ReadonlyArray<boolean>
  /**
   * (G, (T_i - 1) W_i) experts chosen by a mixture at each position except the last, in words that its trainer decodes
   * (`RoutedExperts`); empty if unknown. Not on the original's wire.
   */
  readonly routedExperts?: ReadonlyArray<Int32Array>
  /**
   * (G, T_i, K) ids that top-k, top-p and min-p left to choose from at each position, among them the token; empty where
   * unknown or not sampled. A trainer renormalises over them (vLLM's `sampling_mask`). Not on the original's wire.
   */
  readonly keptTokens?: ReadonlyArray<ReadonlyArray<Int32Array>>
  /** Stable id of the item, the same across runs; not on the original's wire. */
  readonly itemId?: string
  /** Position in its trace at which the group was sent (`Trace`); not on the original's wire. */
  readonly traceparent?: string
}

/** Number of sequences, G. */
export const size = ({ tokens }: Pick<ScoredGroup, "tokens">): number => tokens.length

export const tokenCount = ({ tokens }: Pick<ScoredGroup, "tokens">): number =>
  tokens.reduce((sum, sequence) => sum + sequence.length, 0)
