/**
 * What one step learns from: the sequences of a batch that can be trained on, each cut to a length and with the weight
 * of its tokens in the batch's loss. Whoever computes it may cut it into micro-batches or messages in any way: losses
 * and gradients of the parts add up to the batch's.
 */
import type { TrainingSequence } from "./TrainingSequence.ts"

export interface Item {
  /** Index among `sequences`. */
  readonly sequence: number
  /**
   * Positions n: position t holds token t and predicts token t + 1, for t from 0 to n - 1; mask, advantage and logprobs
   * of a position are those of token t + 1.
   */
  readonly length: number
  /** Trained positions, at least 1. */
  readonly trained: number
  /** Weight of each trained token: the loss is Σ items weight · Σ trained positions ℓ. */
  readonly weight: number
}

export interface WeightedBatch {
  readonly sequences: ReadonlyArray<TrainingSequence>
  readonly items: ReadonlyArray<Item>
}
