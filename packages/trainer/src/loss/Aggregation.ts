/**
 * Weights per-token losses into one number. The loss of a batch of n sequences o_i is L = Σ_i w_i Σ_t m_it ℓ_it with
 *
 *     sequence-mean   w_i = 1 / (n |o_i|)      mean over a sequence's trained tokens, then over sequences (GRPO, GSPO)
 *     token-mean      w_i = 1 / Σ_j |o_j|      mean over all trained tokens (DAPO, CISPO, DPPO)
 *     constant        w_i = 1 / (n C)          C tokens, a constant: no bias by length (Dr. GRPO)
 *
 * where |o_i| counts trained tokens. The weights are computed on the host from the whole batch, so that it may be split
 * into micro-batches in any way: their losses and gradients add up to the batch's.
 */

export type Aggregation = "sequence-mean" | "token-mean" | "constant"

export interface AggregationSettings {
  readonly aggregation: Aggregation
  /** C, tokens; for `constant` only. */
  readonly divisorTokens: number
}

/**
 * w_i of every sequence, from its number of trained tokens. A sequence without trained tokens has weight 0 but counts
 * towards n.
 */
export const weights = (
  trained_N: ReadonlyArray<number>,
  { aggregation, divisorTokens }: AggregationSettings
): Float64Array => {
  const n = trained_N.length
  const total = trained_N.reduce((sum, trained) => sum + trained, 0)
  return Float64Array.from(trained_N, (trained) => {
    if (trained === 0) return 0
    if (aggregation === "token-mean") return 1 / total
    return aggregation === "sequence-mean" ? 1 / (n * trained) : 1 / (n * divisorTokens)
  })
}
