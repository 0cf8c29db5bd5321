/**
 * Computes statistics of evaluations: means with standard errors, intervals for pass rates, unbiased pass@k.
 *
 * Pure and closed-form: no resampling, no seed. Sources: Wilson 1927 (score interval); Chen et al. 2021,
 * https://arxiv.org/abs/2107.03374, eq. 1 (pass@k), in the product form of the original's `pass_at_k`
 * (atroposlib/envs/eval.py); Miller 2024, https://arxiv.org/abs/2411.00640, section 2 (standard errors of evaluations).
 */

/** Closed interval that contains the true value with the stated confidence. */
export interface Interval {
  readonly lower: number
  readonly upper: number
}

/** 97.5% quantile of the standard normal distribution: two-sided 95% intervals. */
export const z95 = 1.959963984540054

/** Arithmetic mean; NaN if empty. */
export const mean = (values: ArrayLike<number>): number => {
  let sum = 0
  for (let i = 0; i < values.length; i++) sum += values[i]!
  return sum / values.length
}

/** Sample standard deviation (divisor n - 1); 0 for fewer than two values. */
export const standardDeviation = (values: ArrayLike<number>): number => {
  const n = values.length
  if (n < 2) return 0
  const center = mean(values)
  let squares = 0
  for (let i = 0; i < n; i++) squares += (values[i]! - center) ** 2
  return Math.sqrt(squares / (n - 1))
}

/** Standard error of the mean, s / √n; 0 for fewer than two values. Average several samples of one question first. */
export const standardError = (values: ArrayLike<number>): number =>
  values.length < 2 ? 0 : standardDeviation(values) / Math.sqrt(values.length)

/**
 * mean ± t·SE, Student's 95% interval of a mean of arbitrary numbers; undefined for fewer than two. For rates, use
 * `share`.
 */
export const confidenceInterval = (values: ArrayLike<number>): Interval | undefined => {
  if (values.length < 2) return undefined
  const center = mean(values)
  const margin = studentT95(values.length - 1) * standardError(values)
  return { lower: center - margin, upper: center + margin }
}

/** Wilson's interval of a rate: (p + z²/2n ± z·√(p(1-p)/n + z²/4n²)) / (1 + z²/n); [0, 1] without trials. */
export const wilson = (successes: number, trials: number, z: number = z95): Interval => {
  if (trials <= 0) return { lower: 0, upper: 1 }
  const rate = successes / trials
  const z2 = z * z
  const scale = 1 + z2 / trials
  const center = (rate + z2 / (2 * trials)) / scale
  const margin = (z * Math.sqrt((rate * (1 - rate)) / trials + z2 / (4 * trials * trials))) / scale
  // At 0 and n successes the bounds are exactly 0 and 1; rounding must not exceed them.
  return {
    lower: successes <= 0 ? 0 : Math.max(0, center - margin),
    upper: successes >= trials ? 1 : Math.min(1, center + margin)
  }
}

/** A share with its standard error over items and its 95% interval; no standard error for fewer than two items. */
export interface Share {
  readonly value: number
  readonly stderr: number | undefined
  readonly interval: Interval
}

/** Sufficient statistics of the shares (0 to 1) of some items. */
export interface Shares {
  readonly items: number
  readonly sum: number
  /** Sum of squared shares. */
  readonly squares: number
  /**
   * Upper bound of the effective number of independent trials: n samples per item for pass@1, ⌊n/k⌋ disjoint choices of
   * k for pass@k.
   */
  readonly trials: number
}

/**
 * Mean of items' shares with Wilson's interval; an item's share is its fraction of correct samples or an estimate of
 * pass@k.
 *
 * A share lies between 0 and 1, so its variance is at most p(1-p), that of one trial: Wilson's interval with as many
 * trials as items is valid however correlated an item's samples are. If items vary less, as several samples of each
 * make them, the effective number of trials is used, p(1-p)/SE² · (z/t)², with SE the standard error over items and t
 * Student's quantile for that many items (Korn and Graubard 1998, Dean and Pagano 2015), capped at `trials`. At shares
 * of 0 and 1 items do not vary, and the number of items is used, so the interval never has zero width.
 */
export const share = ({ items, squares, sum, trials }: Shares): Share => {
  const value = Math.min(1, Math.max(0, sum / items))
  if (items < 2) return { value, stderr: undefined, interval: wilson(value * items, items) }
  // Rounding can make a zero variance negative.
  const stderr = Math.sqrt(Math.max(0, squares - (sum * sum) / items) / (items - 1) / items)
  const t = studentT95(items - 1)
  const effective =
    stderr === 0
      ? items
      : Math.min(Math.max(items, trials), Math.max(items, (value * (1 - value) * z95 ** 2) / (stderr * t) ** 2))
  return { value, stderr, interval: wilson(value * effective, effective) }
}

/**
 * The 95% interval of a mean of items' scores: that of `share` if all scores lie between 0 and 1, else Student's.
 * Undefined for fewer than two.
 */
export const scoreInterval = (values: ReadonlyArray<number>, trials: number): Interval | undefined =>
  values.length > 1 && values.every((value) => value >= 0 && value <= 1)
    ? share(sharesOf(values, trials)).interval
    : confidenceInterval(values)

export const sharesOf = (values: ReadonlyArray<number>, trials: number): Shares => ({
  items: values.length,
  sum: values.reduce((sum, value) => sum + value, 0),
  squares: values.reduce((sum, value) => sum + value * value, 0),
  trials
})

/**
 * 97.5% quantile of Student's distribution: exact for 1 and 2 degrees of freedom; otherwise the expansion of Abramowitz
 * and Stegun 26.7.5 (1% off at 3, less above).
 */
export const studentT95 = (freedom: number): number => {
  if (freedom < 2) return 12.706204736
  if (freedom < 3) return 4.30265273
  const z = z95
  return (
    z +
    (z ** 3 + z) / (4 * freedom) +
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * freedom ** 2) +
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * freedom ** 3)
  )
}

/**
 * Unbiased probability that at least one of k samples is correct, given c correct of m: 1 - C(m-c, k) / C(m, k).
 *
 * Computed as the product 1 - Π_{i=m-c+1..m} (1 - k/i), which neither overflows nor cancels. 1 if fewer than k are
 * wrong.
 */
export const passAtK = (samples: number, correct: number, k: number): number => {
  if (samples - correct < k) return 1
  let allWrong = 1
  for (let i = samples - correct + 1; i <= samples; i++) allWrong *= 1 - k / i
  return 1 - allWrong
}

/** The p-quantile (0 to 1) by linear interpolation between order statistics; NaN if empty. */
export const quantile = (values: ArrayLike<number>, p: number): number => {
  if (values.length === 0) return Number.NaN
  const sorted = Float64Array.from(values).sort()
  const at = (sorted.length - 1) * Math.min(1, Math.max(0, p))
  const below = Math.floor(at)
  const above = Math.min(sorted.length - 1, below + 1)
  return sorted[below]! + (sorted[above]! - sorted[below]!) * (at - below)
}
