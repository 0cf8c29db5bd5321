/**
 * Distinguishes a fully learned run from an unhealthy one: both have groups with equal scores, steps without updates,
 * and hardly any entropy. Pure.
 *
 * `reward/solved_fraction` of a trainer and `train/solved_fraction` of an environment are the share of solved answers.
 * If not recorded, a reward that has risen since the start and has not fallen is evidence of learning. Unreliable
 * scores count as neither solved nor learned (`GraderRules`).
 */
import { courseOf, hasRisen, isRising } from "./Course.ts"
import { percent, seriesOf, trainer, window } from "./Finding.ts"
import * as GraderRules from "./GraderRules.ts"
import * as Series from "./Series.ts"

/** At or above this share of solved answers there is little left to learn. */
export const mostly = 0.8

const solvedName = (source: string): string => (source === trainer ? "reward/solved_fraction" : "train/solved_fraction")

const rewardName = (source: string): string => (source === trainer ? "reward/mean" : "train/scores_mean")

/** The solved share of a source's last answers; undefined if not recorded. */
const solvedShare = (recorded: Series.Recorded, source: string): number | undefined => {
  const { values } = seriesOf(recorded, source, solvedName(source))
  return values.length === 0 ? undefined : Series.mean(values.subarray(-window))
}

/** ` 12% of the answers are solved.`; otherwise their mean score, if known. */
export const inWords = (recorded: Series.Recorded, source: string): string => {
  const share = solvedShare(recorded, source)
  if (share !== undefined) {
    return ` ${percent(share)} of the answers ${GraderRules.isInDoubt(recorded, source) ? "count as" : "are"} solved.`
  }
  const scores = seriesOf(recorded, source, rewardName(source)).values.subarray(-window)
  return scores.length === 0 ? "" : ` Their mean score is ${Number(Series.mean(scores).toPrecision(3))}.`
}

type Values = ReturnType<typeof Series.finite>

const isDown = (series: Values): boolean => (courseOf(series)?.fallen ?? 0) > 0

/** True if a series has risen significantly since its start, and has not fallen since. */
const isUp = (series: Values): boolean => hasRisen(series.values) && !isDown(series)

/** True if most of the achievable reward is earned: what counts as solved may have a low score. */
export const isSolved = (recorded: Series.Recorded, source: string): boolean => {
  if (GraderRules.isInDoubt(recorded, source)) return false
  const share = solvedShare(recorded, source)
  const reward = seriesOf(recorded, source, rewardName(source))
  return share === undefined ? isUp(reward) : share >= mostly && !isDown(reward)
}

/**
 * True if a reward justifies a confident policy: it is at its best, and most answers are solved, or it keeps rising. If
 * a source records no solved share, or always 1, a risen reward suffices.
 */
const isGood = (reward: Values, shares: Values): boolean => {
  if (shares.values.every((share) => share === 1)) return isUp(reward)
  if (isDown(reward)) return false
  return Series.mean(shares.values.subarray(-window)) >= mostly || (isUp(reward) && isRising(reward.values))
}

/** The series without its last `count` values. */
const before = ({ steps, values }: Values, count: number): Values => ({
  steps: steps.subarray(0, Math.max(0, steps.length - count)),
  values: values.subarray(0, Math.max(0, values.length - count))
})

/**
 * True if a policy grows confident because it learns, or did ten steps ago: by the trainer's reward, or by the solved
 * share of all environments, since batches may only contain groups with differing scores.
 */
export const isLearning = (recorded: Series.Recorded): boolean => {
  if (GraderRules.isInDoubt(recorded, trainer)) return false
  const reward = seriesOf(recorded, trainer, rewardName(trainer))
  const shares = seriesOf(recorded, trainer, solvedName(trainer))
  const name = "train/solved_fraction"
  const environments = recorded.sourcesOf(name).map((source) => seriesOf(recorded, source, name))
  const isAt = (ago: number): boolean =>
    isGood(before(reward, ago), before(shares, ago)) ||
    (environments.length > 0 &&
      !isDown(reward) &&
      environments.every((solved) => isGood(before(solved, ago), before(solved, ago))))
  return !isDown(reward) && (isAt(0) || isAt(window))
}
