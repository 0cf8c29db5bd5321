/**
 * A reward: a named pure function of a completion (and what it is to be held against).
 *
 * Rewards compose by `weighted` and `combine`. Nothing here turns an exception into a zero: a broken grader must not look like a
 * bad policy. Follows atroposlib/envs/reward_fns of the original, whose `CombinedReward` ignored its parts' weights; ours do not.
 */

/** What a completion is judged against, beside its own text. */
export interface Reference {
  /** The expected answer. */
  readonly solution?: string
}

export interface Reward {
  readonly name: string
  readonly weight: number
  /** The raw reward of one completion, before its weight. */
  readonly compute: (completion: string, reference: Reference) => number
}

export const make = (name: string, compute: Reward["compute"], weight = 1): Reward => ({ name, weight, compute })

export const weighted = (reward: Reward, weight: number): Reward => ({ ...reward, weight })

/** Rewards of several completions of one item, each times the reward's weight. */
export const scores = (reward: Reward, completions: ReadonlyArray<string>, reference: Reference = {}): Array<number> =>
  completions.map((completion) => reward.weight * reward.compute(completion, reference))

/**
 * How totals are brought to a common scale: as they are, divided by the sum of the weights, or stretched to [0, 1] over the
 * completions of the item (which depends on the whole group, so it is not a `Reward`).
 */
export type Normalization = "none" | "sum" | "minmax"

/** The weighted sum of several rewards for each completion of one item. */
export const combine = (
  parts: ReadonlyArray<Reward>,
  completions: ReadonlyArray<string>,
  reference: Reference = {},
  normalization: Normalization = "none"
): Array<number> => {
  const totals = completions.map((completion) =>
    parts.reduce((sum, part) => sum + part.weight * part.compute(completion, reference), 0)
  )
  if (normalization === "none") return totals
  if (normalization === "sum") {
    const weight = parts.reduce((sum, part) => sum + part.weight, 0)
    return weight === 0 ? totals : totals.map((total) => total / weight)
  }
  const lowest = Math.min(...totals)
  const range = Math.max(...totals) - lowest
  return range === 0 ? totals : totals.map((total) => (total - lowest) / range)
}
