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

/** The step from which on scores speak for nothing: they are in doubt, or the reward has fallen; else infinite. */
const brokenFrom = (recorded: Series.Recorded, source: string): number =>
  Math.min(
    GraderRules.doubtedFrom(recorded, source),
    courseOf(seriesOf(recorded, source, rewardName(source)))?.fellAt ?? Number.POSITIVE_INFINITY
  )

const until = ({ steps, values }: Values, step: number): Values => {
  const count = steps.findLastIndex((one) => one < step) + 1
  return { steps: steps.subarray(0, count), values: values.subarray(0, count) }
}

/**
 * Up to which step most of what a source's answers can earn was earned (what counts as solved may be worth little):
 * infinite where it is now, minus infinite where it never was.
 */
export const solvedUntil = (recorded: Series.Recorded, source: string): number => {
  const broken = brokenFrom(recorded, source)
  const shares = until(seriesOf(recorded, source, solvedName(source)), broken)
  const reward = until(seriesOf(recorded, source, rewardName(source)), broken)
  const isSolvedThen =
    seriesOf(recorded, source, solvedName(source)).values.length === 0
      ? isUp(reward)
      : Series.mean(shares.values.subarray(-window)) >= mostly && !isDown(reward)
  return isSolvedThen ? broken : Number.NEGATIVE_INFINITY
}

export const isSolved = (recorded: Series.Recorded, source: string): boolean =>
  solvedUntil(recorded, source) === Number.POSITIVE_INFINITY

/** True if the trainer's reward has risen and not fallen since, and its scores are not in doubt. */
export const hasImproved = (recorded: Series.Recorded): boolean =>
  brokenFrom(recorded, trainer) === Number.POSITIVE_INFINITY && isUp(seriesOf(recorded, trainer, rewardName(trainer)))

/**
 * True if a reward shows that low entropy is due to learning: it is at its best, and most answers are solved, or it
 * keeps rising. For a source that does not define what is solved, or counts everything as solved, a reward
 * that has risen has to do.
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
 * Up to which step a policy that grows certain does so because it learns, or did ten steps earlier: by the trainer's
 * reward, or by what all environments count as solved, since batches may hold none but the groups that differ. Infinite
 * where it does now, minus infinite where it never did.
 */
export const learningUntil = (recorded: Series.Recorded): number => {
  const broken = brokenFrom(recorded, trainer)
  const known = (source: string, metric: string): Values => until(seriesOf(recorded, source, metric), broken)
  const reward = known(trainer, rewardName(trainer))
  const shares = known(trainer, solvedName(trainer))
  const name = "train/solved_fraction"
  const environments = recorded.sourcesOf(name).map((source) => known(source, name))
  const isAt = (ago: number): boolean =>
    isGood(before(reward, ago), before(shares, ago)) ||
    (environments.length > 0 &&
      !isDown(reward) &&
      environments.every((solved) => isGood(before(solved, ago), before(solved, ago))))
  return !isDown(reward) && (isAt(0) || isAt(window)) ? broken : Number.NEGATIVE_INFINITY
}
