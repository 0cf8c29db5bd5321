/**
 * Computes advantages and the statistics behind them, as pure functions of rewards.
 *
 * Follows atroposlib/utils/advantages.py and best_of_n_selection.py of the original; variances are population
 * variances.
 */
import { Result, Schema } from "effect"
import * as ScoreAdvantage from "./ScoreAdvantage.ts"

export { groupRelative } from "./ScoreAdvantage.ts"

/** The rewards carry no signal about which step was better. */
export class ConstantRewards extends Schema.TaggedError<ConstantRewards>()("ConstantRewards", {
  standardDeviation: Schema.Finite,
  tolerance: Schema.Finite
}) {
  override get message() {
    return `the standard deviation of the rewards (${this.standardDeviation}) is below ${this.tolerance}: no learning signal`
  }
}

/** Numbers nested to any depth, possibly ragged. */
export type Nested = number | ReadonlyArray<Nested>

/** Mean and population variance of all numbers in a ragged nest; undefined if it is empty. */
export const stats = (nested: Nested): { readonly mean: number; readonly variance: number } | undefined => {
  const values = flatten(nested)
  if (values.length === 0) return undefined
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length
  return { mean, variance }
}

/** G_t = r_t + γ G_{t+1}. */
export const discountedReturns = (rewards: ReadonlyArray<number>, discount: number): Array<number> => {
  const returns = Array.from(rewards)
  for (let t = returns.length - 2; t >= 0; t--) returns[t] = returns[t]! + discount * returns[t + 1]!
  return returns
}

/**
 * Process supervision of GRPO (DeepSeekMath, 2402.03300, section 4.1.3): step rewards normalised over all steps of all
 * trajectories, then summed from each step to the end, discounted by `discount` (1: plain sum).
 */
export const processSupervision = (
  rewards_G_S: ReadonlyArray<ReadonlyArray<number>>,
  { discount = 1, tolerance = 1e-8 }: { readonly discount?: number; readonly tolerance?: number } = {}
): Result.Result<Array<Array<number>>, ConstantRewards> => {
  const { mean, variance } = stats(rewards_G_S) ?? { mean: 0, variance: 0 }
  const standardDeviation = Math.sqrt(variance)
  if (!(standardDeviation >= tolerance)) return Result.fail(new ConstantRewards({ standardDeviation, tolerance }))
  return Result.succeed(
    rewards_G_S.map((steps) =>
      discountedReturns(
        steps.map((reward) => (reward - mean) / standardDeviation),
        discount
      )
    )
  )
}

/** Divisor of centred rewards; see `ScoreAdvantage`. */
export const Scale = Schema.Literals(ScoreAdvantage.scales)
export type Scale = ScoreAdvantage.Scale

/**
 * Turn-level advantages of multi-turn rollouts (MT-GRPO, 2505.11821): the reward of turn k, standardised over the
 * rollouts at that turn, plus `outcomeWeight` times the standardised outcome. A rollout that has ended counts as 0 in
 * later turns; a zero variance is replaced by a divisor of 1. (G, K_i) in, (G, K_i) out.
 */
export const turnLevel = (
  rewards_G_K: ReadonlyArray<ReadonlyArray<number>>,
  outcomes_G: ReadonlyArray<number>,
  { outcomeWeight = 1 }: { readonly outcomeWeight?: number } = {}
): Array<Array<number>> => {
  const outcomes = standardized(outcomes_G)
  const turns = Math.max(0, ...rewards_G_K.map((rewards) => rewards.length))
  const byTurn = Array.from({ length: turns }, (_, turn) =>
    standardized(rewards_G_K.map((rewards) => rewards[turn] ?? 0))
  )
  return rewards_G_K.map((rewards, rollout) =>
    rewards.map((_, turn) => byTurn[turn]![rollout]! + outcomeWeight * (outcomes[rollout] ?? 0))
  )
}

/** The number of answers in a sequence differs from its number of advantages. */
export class TurnMismatch extends Schema.TaggedError<TurnMismatch>()("TurnMismatch", {
  answers: Schema.Natural,
  advantages: Schema.Natural
}) {
  override get message() {
    return `the sequence has ${this.answers} trained spans but ${this.advantages} advantages: one per answer is required`
  }
}

/**
 * Token-level advantages (T): each contiguous trained span of the mask gets its turn's advantage, all other tokens 0.
 */
export const overTurns = (
  mask: Uint8Array,
  advantages_K: ReadonlyArray<number>
): Result.Result<Float32Array, TurnMismatch> => {
  const advantages_T = new Float32Array(mask.length)
  let answers = 0
  for (let t = 0; t < mask.length; t++) {
    if (mask[t] === 0) continue
    if (t === 0 || mask[t - 1] === 0) answers++
    advantages_T[t] = advantages_K[answers - 1] ?? 0
  }
  return answers === advantages_K.length
    ? Result.succeed(advantages_T)
    : Result.fail(new TurnMismatch({ answers, advantages: advantages_K.length }))
}

/**
 * Advantages of alternative steps from one state: A_i = r_i + γ V(s'_i) - V(s). Not centred: `value` is V(s), and V is
 * 0 at the end of an episode.
 */
export const stepwise = (
  steps_G: ReadonlyArray<{ readonly reward: number; readonly nextValue: number }>,
  value: number,
  { discount = 1 }: { readonly discount?: number } = {}
): Array<number> => steps_G.map(({ nextValue, reward }) => reward + discount * nextValue - value)

/**
 * Index of the best alternative: by primary score, then secondary score, then position. Undefined if there are no
 * alternatives.
 */
export const bestIndex = (
  primary: ReadonlyArray<number>,
  secondary: ReadonlyArray<number>,
  {
    primaryHigherIsBetter = true,
    secondaryLowerIsBetter = true
  }: { readonly primaryHigherIsBetter?: boolean; readonly secondaryLowerIsBetter?: boolean } = {}
): number | undefined => {
  const first = primaryHigherIsBetter ? 1 : -1
  const second = secondaryLowerIsBetter ? -1 : 1
  const isBetter = (a: number, b: number) => {
    const byPrimary = first * (primary[a]! - primary[b]!)
    return byPrimary > 0 || (byPrimary === 0 && second * (secondary[a]! - secondary[b]!) > 0)
  }
  return primary.length === 0
    ? undefined
    : primary.reduce((best, _, index) => (isBetter(index, best) ? index : best), 0)
}

const standardized = (values: ReadonlyArray<number>): ReadonlyArray<number> => {
  const { mean, variance } = stats(values) ?? { mean: 0, variance: 0 }
  // Rounding leaves constant values with a deviation in the last digits.
  const deviation = values.every((value) => value === values[0]) ? 1 : Math.sqrt(variance)
  return values.map((value) => (value - mean) / deviation)
}

const flatten = (nested: Nested): ReadonlyArray<number> =>
  typeof nested === "number" ? [nested] : nested.flatMap(flatten)
