/**
 * Statistics of evaluations: means with their errors, intervals for pass rates, unbiased pass@k.
 *
 * All functions are pure and closed-form: no resampling, no seed. Sources: Wilson 1927 (score interval); Chen et al. 2021,
 * https://arxiv.org/abs/2107.03374, eq. 1 (pass@k), in the product form that the original's `pass_at_k` has
 * (atroposlib/envs/eval.py); Miller 2024, https://arxiv.org/abs/2411.00640, section 2 (standard errors of evaluations).
 */

/** Closed range that holds the true value with the stated confidence. */
export interface Interval {
  readonly lower: number
  readonly upper: number
}

/** 97.5% quantile of the standard normal distribution: two-sided 95% intervals. */
export const z95 = 1.959963984540054

/** Arithmetic mean; NaN of no values. */
export const mean = (values: ArrayLike<number>): number => {
  let sum = 0
  for (let i = 0; i < values.length; i++) sum += values[i]!
  return sum / values.length
}

/** Sample standard deviation (divisor n - 1); 0 of fewer than two values, of which nothing is known. */
export const standardDeviation = (values: ArrayLike<number>): number => {
  const n = values.length
  if (n < 2) return 0
  const center = mean(values)
  let squares = 0
  for (let i = 0; i < n; i++) squares += (values[i]! - center) ** 2
  return Math.sqrt(squares / (n - 1))
}

/** Standard error of the mean, s / √n; 0 of fewer than two values. Several samples of one question count once: give their means. */
export const standardError = (values: ArrayLike<number>): number =>
  values.length < 2 ? 0 : standardDeviation(values) / Math.sqrt(values.length)

/** mean ± z·SE, the normal interval of a mean; wide of the mark below some 30 values and for rates near 0 or 1: use `wilson` there. */
export const confidenceInterval = (values: ArrayLike<number>, z: number = z95): Interval => {
  const center = mean(values)
  const margin = z * standardError(values)
  return { lower: center - margin, upper: center + margin }
}

/** Wilson's interval of a rate: (p + z²/2n ± z·√(p(1-p)/n + z²/4n²)) / (1 + z²/n); [0, 1] where nothing was tried. */
export const wilson = (successes: number, trials: number, z: number = z95): Interval => {
  if (trials <= 0) return { lower: 0, upper: 1 }
  const rate = successes / trials
  const z2 = z * z
  const scale = 1 + z2 / trials
  const center = (rate + z2 / (2 * trials)) / scale
  const margin = (z * Math.sqrt((rate * (1 - rate)) / trials + z2 / (4 * trials * trials))) / scale
  // At 0 and n successes the bounds are 0 and 1 exactly; rounding must not take them past.
  return {
    lower: successes <= 0 ? 0 : Math.max(0, center - margin),
    upper: successes >= trials ? 1 : Math.min(1, center + margin)
  }
}

/**
 * Unbiased chance that at least one of k samples is right, from c right ones of m: 1 - C(m-c, k) / C(m, k).
 *
 * As a product, 1 - Π_{i=m-c+1..m} (1 - k/i), which neither overflows nor cancels. 1 where fewer than k are wrong.
 */
export const passAtK = (samples: number, correct: number, k: number): number => {
  if (samples - correct < k) return 1
  let allWrong = 1
  for (let i = samples - correct + 1; i <= samples; i++) allWrong *= 1 - k / i
  return 1 - allWrong
}

/** The p-quantile (0 to 1) by linear interpolation between order statistics; NaN of no values. */
export const quantile = (values: ArrayLike<number>, p: number): number => {
  if (values.length === 0) return Number.NaN
  const sorted = Float64Array.from(values).sort()
  const at = (sorted.length - 1) * Math.min(1, Math.max(0, p))
  const below = Math.floor(at)
  const above = Math.min(sorted.length - 1, below + 1)
  return sorted[below]! + (sorted[above]! - sorted[below]!) * (at - below)
}
