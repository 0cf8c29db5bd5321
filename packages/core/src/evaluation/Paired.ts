/**
 * Compares two evaluations of the same items: the difference with its interval, and its p-value.
 *
 * For right or wrong items: Tango's score interval (1998, https://doi.org/10.1002/(SICI)1097-0258(19980430)17:8), the
 * counterpart of Wilson's for a difference of paired shares, with a width even if nothing changed; p by McNemar's exact
 * test, the binomial test over changed items. Otherwise Student's interval of the mean difference (Miller 2024,
 * https://arxiv.org/abs/2411.00640, section 4.2).
 */
import * as Statistics from "./Statistics.ts"

export interface Difference {
  readonly value: number
  readonly interval?: readonly [lower: number, upper: number]
  /** Two-sided; only for right or wrong items. */
  readonly p?: number
}

/** The score statistic of a difference of paired shares, from items that got better and worse of n. */
const statistic = (better: number, worse: number, n: number, difference: number): number => {
  // The maximum-likelihood share of items that got worse, under this difference.
  const b = -better - worse + (2 * n - better + worse) * difference
  const c = -worse * difference * (1 - difference)
  const share = (Math.sqrt(Math.max(0, b * b - 8 * n * c)) - b) / (4 * n)
  const variance = n * (2 * share + difference * (1 - difference))
  const distance = better - worse - n * difference
  return variance <= 0 ? (distance === 0 ? 0 : Math.sign(distance) * Infinity) : distance / Math.sqrt(variance)
}

const steps = 60

/** Finds where the decreasing statistic crosses a value. */
const solve = (better: number, worse: number, n: number, target: number, low: number, high: number): number => {
  let [from, to] = [low, high]
  for (let step = 0; step < steps; step++) {
    const middle = (from + to) / 2
    if (statistic(better, worse, n, middle) > target) from = middle
    else to = middle
  }
  return (from + to) / 2
}

/** Tango's 95% interval. */
export const tango = (better: number, worse: number, n: number): readonly [lower: number, upper: number] => {
  const value = (better - worse) / n
  return [
    better === 0 && worse === n ? -1 : solve(better, worse, n, Statistics.z95, -1, value),
    worse === 0 && better === n ? 1 : solve(better, worse, n, -Statistics.z95, value, 1)
  ]
}

/** McNemar's exact test: the probability of a split at least as uneven if both are equally likely. */
export const mcnemar = (better: number, worse: number): number => {
  const n = better + worse
  const min = Math.min(better, worse)
  let [term, sum] = [-n * Math.LN2, 0]
  for (let k = 0; k <= min; k++) {
    if (k > 0) term += Math.log((n - k + 1) / k)
    sum += Math.exp(term)
  }
  return Math.min(1, 2 * sum)
}

/** The difference of items' values, each in A and in B. */
export const difference = (pairs: ReadonlyArray<readonly [a: number, b: number]>): Difference => {
  const changes = pairs.map(([a, b]) => b - a)
  const value = Statistics.mean(changes)
  if (pairs.flat().every((one) => one === 0 || one === 1)) {
    const [better, worse] = [changes.filter((one) => one > 0).length, changes.filter((one) => one < 0).length]
    return { value, interval: tango(better, worse, pairs.length), p: mcnemar(better, worse) }
  }
  const interval = Statistics.confidenceInterval(changes)
  return { value, ...(interval !== undefined && { interval: [interval.lower, interval.upper] as const }) }
}
