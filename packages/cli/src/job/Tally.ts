/**
 * What a run of rollouts came to: how many items gave something, what was kept and dropped and why, scores, passes, tokens.
 *
 * A tally is plain data that grows by values: it is saved with the checkpoint, so that a resumed run sums up the whole of it.
 * Passing means a score above 0, as in evaluations. Rates have 95% intervals that know that the rollouts of one item are alike.
 */
import { Evaluation } from "@atropos/core"
import { Schema } from "effect"

const Counts = Schema.Record(Schema.String, Schema.Natural)

export const Tally = Schema.Struct({
  /** Items that gave a result. */
  items: Schema.Natural,
  kept: Schema.Natural,
  /** Groups (or items) by the reason they were dropped for. */
  dropped: Counts,
  /** How many groups had c passes of n: `"n:c"` -> count. */
  passes: Counts,
  /** Group means of the scores: number, sum, sum of squares. */
  scores: Schema.Tuple([Schema.Natural, Schema.Finite, Schema.Finite]),
  /** Tokens the trainer learns from, and all tokens. */
  trainedTokens: Schema.Natural,
  tokens: Schema.Natural,
  millis: Schema.Finite
})
export type Tally = typeof Tally.Type

export const empty: Tally = {
  items: 0,
  kept: 0,
  dropped: {},
  passes: {},
  scores: [0, 0, 0],
  trainedTokens: 0,
  tokens: 0,
  millis: 0
}

const addCounts = (a: Tally["dropped"], b: Tally["dropped"]): Tally["dropped"] => {
  const sum: Record<string, number> = { ...a }
  for (const [key, count] of Object.entries(b)) sum[key] = (sum[key] ?? 0) + count
  return sum
}

/** The sum of two tallies. */
export const add = (a: Tally, b: Tally): Tally => ({
  items: a.items + b.items,
  kept: a.kept + b.kept,
  dropped: addCounts(a.dropped, b.dropped),
  passes: addCounts(a.passes, b.passes),
  scores: [a.scores[0] + b.scores[0], a.scores[1] + b.scores[1], a.scores[2] + b.scores[2]],
  trainedTokens: a.trainedTokens + b.trainedTokens,
  tokens: a.tokens + b.tokens,
  millis: a.millis + b.millis
})

export interface Scored {
  readonly scores: ArrayLike<number>
  /** Passes among them. */
  readonly passes: number
  readonly trainedTokens: number
  readonly tokens: number
}

/** One group of scored rollouts; its scores count whether it is kept or not. */
export const ofGroup = ({ passes, scores, tokens, trainedTokens }: Scored): Tally => {
  const mean = Evaluation.mean(scores)
  const isScored = Number.isFinite(mean)
  return {
    ...empty,
    passes: isScored ? { [`${scores.length}:${passes}`]: 1 } : {},
    scores: isScored ? [1, mean, mean * mean] : [0, 0, 0],
    trainedTokens,
    tokens
  }
}

/** Scores above 0. */
export const passesOf = (scores: ArrayLike<number>): number => {
  let count = 0
  for (let index = 0; index < scores.length; index++) if (scores[index]! > 0) count++
  return count
}

interface PassGroup {
  readonly samples: number
  readonly passed: number
  readonly count: number
}

const passGroups = ({ passes }: Tally): ReadonlyArray<PassGroup> =>
  Object.entries(passes).map(([key, count]) => {
    const [samples = 0, passed = 0] = key.split(":").map(Number)
    return { samples, passed, count }
  })

/** A figure with its standard error and 95% interval. */
export interface Estimate {
  readonly value: number
  readonly stderr: number
  readonly interval: Evaluation.Interval
}

const errorOfMean = (count: number, sum: number, squares: number): number => {
  if (count < 2) return 0
  // Rounding can take a variance of zero below it.
  const variance = Math.max(0, squares - (sum * sum) / count) / (count - 1)
  return Math.sqrt(variance / count)
}

/** Mean score of the groups; none where nothing was scored. */
export const meanScore = ({ scores: [count, sum, squares] }: Tally): Estimate | undefined => {
  if (count === 0) return undefined
  const value = sum / count
  const stderr = errorOfMean(count, sum, squares)
  return { value, stderr, interval: { lower: value - Evaluation.z95 * stderr, upper: value + Evaluation.z95 * stderr } }
}

/**
 * Share of rollouts that passed. The interval is Wilson's with the effective number of samples: p(1-p)/SE², where SE is the
 * standard error over groups, so that eight equal answers to one question do not count as eight. Between groups and samples.
 */
export const passRate = (tally: Tally): Estimate | undefined => {
  let groups = 0
  let samples = 0
  let sum = 0
  let squares = 0
  for (const one of passGroups(tally)) {
    const rate = one.passed / one.samples
    groups += one.count
    samples += one.count * one.samples
    sum += one.count * rate
    squares += one.count * rate * rate
  }
  if (groups === 0) return undefined
  const value = sum / groups
  const stderr = errorOfMean(groups, sum, squares)
  const effective = stderr === 0 ? groups : Math.min(samples, Math.max(groups, (value * (1 - value)) / stderr ** 2))
  return { value, stderr, interval: Evaluation.wilson(value * effective, effective) }
}

/** Unbiased pass@k over the groups that have at least k rollouts, for k = 1, 2, 4, … and the largest group. */
export const passAtK = (tally: Tally): ReadonlyArray<readonly [k: number, estimate: Estimate]> => {
  const groups = passGroups(tally)
  const largest = Math.max(0, ...groups.map(({ samples }) => samples))
  const ks: Array<number> = []
  for (let k = 1; k < largest; k *= 2) ks.push(k)
  if (largest > 0) ks.push(largest)
  return ks.map((k) => {
    let count = 0
    let sum = 0
    let squares = 0
    for (const one of groups) {
      if (one.samples < k) continue
      const value = Evaluation.passAtK(one.samples, one.passed, k)
      count += one.count
      sum += one.count * value
      squares += one.count * value * value
    }
    const value = sum / count
    const stderr = errorOfMean(count, sum, squares)
    const lower = Math.max(0, value - Evaluation.z95 * stderr)
    return [k, { value, stderr, interval: { lower, upper: Math.min(1, value + Evaluation.z95 * stderr) } }]
  })
}
