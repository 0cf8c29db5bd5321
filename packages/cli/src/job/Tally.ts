/**
 * Aggregates a run of rollouts: items, kept and dropped groups with reasons, scores, passes, tokens. An immutable plain
 * value, saved with the checkpoint so that a resumed run covers the whole. The environment defines passing (`solved`).
 * Rates have the 95% intervals of `Evaluation.share`, which account for correlated rollouts of one item.
 */
import { Evaluation, RewardComponents } from "@atropos/core"
import { Effect, Schema } from "effect"

const Counts = Schema.Record(Schema.String, Schema.Natural)

const Share = Schema.Tuple([Schema.Natural, Schema.Natural])
export type Share = typeof Share.Type

const share = Share.pipe(
  // Missing in tallies saved by older versions.
  Schema.withDecodingDefaultKey(Effect.succeed([0, 0] as const))
)

export const Tally = Schema.Struct({
  /** Items that gave a result. */
  items: Schema.Natural,
  kept: Schema.Natural,
  /** Groups (or items) by drop reason. */
  dropped: Counts,
  /** Number of groups with c passes of n: `"n:c"` -> count. */
  passes: Counts,
  /** Group means of the scores: number, sum, sum of squares. */
  scores: Schema.Tuple([Schema.Natural, Schema.Finite, Schema.Finite]),
  /** Scores outside of the range that the environment claims, and all scores. */
  outside: share,
  /** Groups whose scores are all equal, and all groups of several rollouts. */
  identical: share,
  /** Rollouts that ended at a token limit, and all rollouts. */
  truncated: share,
  /** Rollouts without an answer that could be parsed, and those of which this is known. */
  unparsed: share,
  /** Reward components: number of values and their sum. */
  rewards: Schema.Record(Schema.String, Schema.Struct({ count: Schema.Natural, sum: Schema.Finite })).pipe(
    // Missing in tallies saved by older versions.
    Schema.withDecodingDefaultKey(Effect.succeed({}))
  ),
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
  outside: [0, 0],
  identical: [0, 0],
  truncated: [0, 0],
  unparsed: [0, 0],
  rewards: {},
  trainedTokens: 0,
  tokens: 0,
  millis: 0
}

const addShare = (a: Share, b: Share): Share => [a[0] + b[0], a[1] + b[1]]

const addCounts = (a: Tally["dropped"], b: Tally["dropped"]): Tally["dropped"] => {
  const sum: Record<string, number> = { ...a }
  for (const [key, count] of Object.entries(b)) sum[key] = (sum[key] ?? 0) + count
  return sum
}

const addRewards = (a: Tally["rewards"], b: Tally["rewards"]): Tally["rewards"] => {
  const sum: Record<string, RewardComponents.Total> = { ...a }
  for (const [component, total] of Object.entries(b)) {
    const known = Object.hasOwn(sum, component) ? sum[component]! : { count: 0, sum: 0 }
    sum[component] = { count: known.count + total.count, sum: known.sum + total.sum }
  }
  return sum
}

export const add = (a: Tally, b: Tally): Tally => ({
  items: a.items + b.items,
  kept: a.kept + b.kept,
  dropped: addCounts(a.dropped, b.dropped),
  passes: addCounts(a.passes, b.passes),
  scores: [a.scores[0] + b.scores[0], a.scores[1] + b.scores[1], a.scores[2] + b.scores[2]],
  outside: addShare(a.outside, b.outside),
  identical: addShare(a.identical, b.identical),
  truncated: addShare(a.truncated, b.truncated),
  unparsed: addShare(a.unparsed, b.unparsed),
  rewards: addRewards(a.rewards, b.rewards),
  trainedTokens: a.trainedTokens + b.trainedTokens,
  tokens: a.tokens + b.tokens,
  millis: a.millis + b.millis
})

export interface Scored {
  readonly scores: ArrayLike<number>
  /** Number of passes, if passing is defined. */
  readonly passes?: number
  /** Tests if a score is outside of the claimed range. */
  readonly isOutside?: (score: number) => boolean
  readonly rewards?: ReadonlyArray<RewardComponents.Rewards>
  /** Number of rollouts that ended at a token limit. */
  readonly truncated?: number
  readonly unparsed?: Share
  readonly trainedTokens: number
  readonly tokens: number
}

/** One group of scored rollouts; its scores count whether it is kept or not. */
export const ofGroup = ({
  isOutside = () => false,
  passes,
  rewards = [],
  scores,
  tokens,
  trainedTokens,
  truncated = 0,
  unparsed = [0, 0]
}: Scored): Tally => {
  const mean = Evaluation.mean(scores)
  const isScored = scores.length > 0 && Array.from(scores).every(RewardComponents.isUsable)
  return {
    ...empty,
    passes: isScored && passes !== undefined ? { [`${scores.length}:${passes}`]: 1 } : {},
    scores: isScored ? [1, mean, mean * mean] : [0, 0, 0],
    outside: [Array.from(scores).filter(isOutside).length, scores.length],
    identical:
      isScored && scores.length > 1 ? [Array.from(scores).every((one) => one === scores[0]) ? 1 : 0, 1] : [0, 0],
    truncated: [truncated, scores.length],
    unparsed,
    rewards: isScored ? Object.fromEntries(RewardComponents.totals(rewards.filter(RewardComponents.isRewards))) : {},
    trainedTokens,
    tokens
  }
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

/** Mean of the groups' mean scores with its standard error; undefined without scores, no error for a single group. */
export const meanScore = ({
  scores: [count, sum, squares]
}: Tally):
  | { readonly value: number; readonly stderr: number | undefined; readonly interval: Evaluation.Interval | undefined }
  | undefined => {
  if (count === 0) return undefined
  const value = sum / count
  if (count < 2) return { value, stderr: undefined, interval: undefined }
  // Rounding may make a zero variance negative.
  const stderr = Math.sqrt(Math.max(0, squares - (sum * sum) / count) / (count - 1) / count)
  const margin = Evaluation.studentT95(count - 1) * stderr
  return { value, stderr, interval: { lower: value - margin, upper: value + margin } }
}

/** Mean of each reward component over the rollouts that have it. */
export const meanRewards = ({ rewards }: Tally): ReadonlyArray<readonly [component: string, mean: number]> =>
  Object.entries(rewards).map(([component, { count, sum }]) => [component, sum / count])

/** pass@k over the groups with at least k rollouts; undefined if none. */
const passAt = (groups: ReadonlyArray<PassGroup>, k: number): Evaluation.Share | undefined => {
  let [items, sum, squares, trials] = [0, 0, 0, 0]
  for (const { count, passed, samples } of groups) {
    if (samples < k) continue
    const value = Evaluation.passAtK(samples, passed, k)
    items += count
    sum += count * value
    squares += count * value * value
    trials += count * Math.floor(samples / k)
  }
  return items === 0 ? undefined : Evaluation.share({ items, sum, squares, trials })
}

export const passRate = (tally: Tally): Evaluation.Share | undefined => passAt(passGroups(tally), 1)

/** Unbiased pass@k over the groups with at least k rollouts, for k = 1, 2, 4, … and the largest group size. */
export const passAtK = (tally: Tally): ReadonlyArray<readonly [k: number, share: Evaluation.Share]> => {
  const groups = passGroups(tally)
  const largest = Math.max(0, ...groups.map(({ samples }) => samples))
  const ks: Array<number> = []
  for (let k = 1; k < largest; k *= 2) ks.push(k)
  if (largest > 0) ks.push(largest)
  return ks.flatMap((k) => {
    const share = passAt(groups, k)
    return share === undefined ? [] : [[k, share] as const]
  })
}
