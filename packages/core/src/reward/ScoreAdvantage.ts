/**
 * Computes advantages from the scores of a group, for the trainer and the viewer. Has no dependencies, because the page
 * bundles it.
 *
 * With r the group's scores:
 *
 *     group          A_i = (r_i - mean(r)) / d (GRPO, arXiv 2402.03300, section 4.1.2)
 *     leave-one-out  A_i = (r_i - mean of the others) / d = G / (G - 1) (r_i - mean(r)) / d
 *                    (RLOO, arXiv 2402.14740, equation 8)
 *     batch          A_i = (r_i - mean of all scores of the batch) / d (REINFORCE++, arXiv 2501.03262)
 *     none           A_i = r_i
 *
 * and d (the GRPO paper does not specify the deviation):
 *
 *     sample-std       sqrt(Σ (r - mean)² / (G - 1)) + 1e-4, as TRL
 *     population-std   sqrt(Σ (r - mean)² / G) + 1e-8, as the original's trainer
 *     batch-std        sqrt(Σ (r - mean)² / (N - 1)) + 1e-4 over all N scores of the batch, as TRL's "batch"
 *     none             1: Dr. GRPO, 2503.20783, section 3.2
 *
 * In a group of one, the score is the advantage, as in the original (example_trainer/data.py). Scores that differ only
 * by rounding count as equal: their advantages are 0, whereas the original divided rounding errors by 1e-8.
 */
export const baselines = ["group", "leave-one-out", "batch", "none"] as const
export type Baseline = (typeof baselines)[number]

export const scales = ["sample-std", "population-std", "batch-std", "none"] as const
export type Scale = (typeof scales)[number]

export interface Rule {
  readonly baseline: Baseline
  readonly advantageScale: Scale
}

/** Statistics of all scores of a batch that a rule may need. */
export interface BatchScores {
  readonly mean: number
  /** d of `batch-std`. */
  readonly divisor: number
  readonly areEqual: boolean
}

/** True if advantages cannot be computed from a group alone. */
export const needsBatch = ({ advantageScale, baseline }: Rule): boolean =>
  baseline === "batch" || (baseline !== "none" && advantageScale === "batch-std")

/** The rule of a run, and its source. */
export interface Recipe extends Rule {
  readonly loss: string
  readonly isUsed: boolean
  /** Name of the program's custom advantage function, if it is not this rule; others cannot compute it. */
  readonly computedBy?: string
}

/** Relative to the largest score: float32 rounding of a sum of a few terms. */
const tolerance = 1e-6

export const areEqual = (scores_G: ArrayLike<number>): boolean => {
  let min = Infinity
  let max = -Infinity
  for (let i = 0; i < scores_G.length; i++) {
    min = Math.min(min, scores_G[i]!)
    max = Math.max(max, scores_G[i]!)
  }
  return max - min <= tolerance * Math.max(Math.abs(min), Math.abs(max))
}

const divisor = (scale: Exclude<Scale, "batch-std">, variance: number, count: number): number => {
  switch (scale) {
    case "sample-std":
      return Math.sqrt((variance * count) / Math.max(1, count - 1)) + 1e-4
    case "population-std":
      return Math.sqrt(variance) + 1e-8
    case "none":
      return 1
  }
}

/** A = (r - mean(r)) / d; zeros for a constant group. */
export const groupRelative = (
  rewards_G: ArrayLike<number>,
  { scale: kind = "sample-std" }: { readonly scale?: Exclude<Scale, "batch-std"> } = {}
): Float64Array => {
  const rewards = Float64Array.from(rewards_G)
  const { mean, variance } = moments(rewards)
  const scale = divisor(kind, variance, rewards.length)
  return rewards.map((reward) => (reward - mean) / scale)
}

const moments = (scores: Float64Array) => {
  const mean = scores.reduce((sum, score) => sum + score, 0) / Math.max(1, scores.length)
  return { mean, variance: scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / Math.max(1, scores.length) }
}

/** Statistics of the scores of all groups of a batch, in any order. */
export const ofBatch = (scores_N: ArrayLike<number>): BatchScores => {
  const scores = Float64Array.from(scores_N)
  const { mean, variance } = moments(scores)
  return { mean, divisor: divisor("sample-std", variance, scores.length), areEqual: areEqual(scores) }
}

/** One advantage per sequence. `batch` is required if `needsBatch`; otherwise it defaults to this group. */
export const ofScores = (
  scores_G: ArrayLike<number>,
  { advantageScale, baseline }: Rule,
  batch: BatchScores = ofBatch(scores_G)
): Float64Array => {
  const count = scores_G.length
  if (baseline === "none") return Float64Array.from(scores_G)
  if (baseline === "batch") {
    if (batch.areEqual) return new Float64Array(count)
    const scale = advantageScale === "none" ? 1 : batch.divisor
    return Float64Array.from(scores_G, (score) => (score - batch.mean) / scale)
  }
  if (count <= 1) return Float64Array.from(scores_G)
  if (areEqual(scores_G)) return new Float64Array(count)
  const relative_G =
    advantageScale === "batch-std"
      ? groupRelative(scores_G, { scale: "none" }).map((advantage) => advantage / batch.divisor)
      : groupRelative(scores_G, { scale: advantageScale })
  return baseline === "group" ? relative_G : relative_G.map((advantage) => (advantage * count) / (count - 1))
}

/** (G) Rollout of each sequence, from its override `session`; undefined: a separate rollout. */
export const sessionsOf = ({
  overrides,
  scores
}: {
  readonly overrides?: ReadonlyArray<{ readonly [name: string]: unknown }>
  readonly scores: ArrayLike<number>
}): ReadonlyArray<unknown> => Array.from(scores, (_, i) => overrides?.[i]?.["session"])

/** The score of each rollout (S), and the rollout index of each sequence (G). */
export const rollouts = (scores_G: ArrayLike<number>, sessions_G: ReadonlyArray<unknown>) => {
  const places = new Map<unknown, number>()
  const scores_S: Array<number> = []
  const place_G = Array.from(scores_G, (score, i) => {
    const session = sessions_G[i]
    const known = session === undefined ? undefined : places.get(session)
    if (known !== undefined) return known
    if (session !== undefined) places.set(session, scores_S.length)
    return scores_S.push(score) - 1
  })
  return { place_G, scores_S }
}

/**
 * One advantage per sequence of a group in which several sequences may belong to one rollout, identified by `session`
 * (any value; undefined: a separate rollout). Rollouts are compared by the score of their first sequence, and all
 * sequences of a rollout share its advantage.
 */
export const ofSessions = (
  scores_G: ArrayLike<number>,
  sessions_G: ReadonlyArray<unknown>,
  rule: Rule,
  batch?: BatchScores
): Float64Array => {
  const { place_G, scores_S } = rollouts(scores_G, sessions_G)
  const advantages_S = ofScores(scores_S, rule, batch)
  return Float64Array.from(place_G, (place) => advantages_S[place]!)
}
