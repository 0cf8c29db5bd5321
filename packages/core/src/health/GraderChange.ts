/** The rule for scores that jump, or the share of them that counts as solved, while the policy is unchanged. */
import { type Findings, percent, type Rule, seriesOf, trainer, window, written } from "./Finding.ts"
import * as HeldOut from "./HeldOut.ts"
import * as Jump from "./Jump.ts"
import * as PolicyChange from "./PolicyChange.ts"
import * as Series from "./Series.ts"

/** The environments' scores, because a trainer's reward mixes them; the trainer's if no environment reports any. */
const scoredIn = (recorded: Series.Recorded): ReadonlyArray<string> => {
  const environments = recorded.sourcesOf("train/scores_mean")
  return environments.length > 0 ? environments : [trainer]
}

/** Series of a source that jump with its grader, and the trainer's of the same, which should jump too. */
const scores = (source: string) => ({
  metric: source === trainer ? "reward/mean" : "train/scores_mean",
  trained: "reward/mean"
})
const solved = (source: string) => ({
  metric: source === trainer ? "reward/solved_fraction" : "train/solved_fraction",
  trained: "reward/solved_fraction"
})

const deviationsOf = (recorded: Series.Recorded, source: string) =>
  seriesOf(recorded, source, source === trainer ? "reward/std" : "train/scores_std")

/** The first step from which on all scores are equal; Infinity if they differ. */
const oneScoreFrom = ({ steps, values }: ReturnType<typeof deviationsOf>): number =>
  steps[values.findLastIndex((deviation) => deviation !== 0) + 1] ?? Number.POSITIVE_INFINITY

/** Min jump relative to the standard deviation of the scores before it, unless all scores are equal afterwards. */
const partOfDeviation = 0.65

type Values = ReturnType<typeof seriesOf>

const meanBefore = ({ steps, values }: Values, step: number): number =>
  Series.mean(values.filter((_, at) => steps[at]! < step).subarray(-window))

const ofShare = (share: number): number => Math.sqrt(share * (1 - share))

/** Min jump at a step. If no deviation is recorded, scores between 0 and 1 are treated as shares of correct answers. */
const minJump = (deviations: Values, scores: Values, step: number): number => {
  if (step >= oneScoreFrom(deviations)) return 0
  const mean = meanBefore(scores, step)
  const known = meanBefore(deviations, step)
  const deviation = Number.isFinite(known) ? known : mean > 0 && mean < 1 ? ofShare(mean) : Math.abs(mean)
  return partOfDeviation * deviation
}

/** Steps before and after a jump of an environment's rows within which batches of its groups are trained on. */
const trainedWithin = [2, 10] as const
/** Min share of the jump that the trainer's reward takes in one step: batches may mix groups from before and after. */
const partOfJump = 0.4

/** Min ratio of that step to the mean change from step to step before it: batches of other items differ too. */
const timesUsual = 5

/**
 * True if the trainer's reward jumps too. An environment's row may cover few groups on a busy machine, or several steps
 * on a fast one, whose mean looks like a jump where a policy learns quickly; a batch always covers as many.
 */
const isTrained = (recorded: Series.Recorded, trained: string, from: number, rise: number): boolean => {
  const { steps, values } = seriesOf(recorded, trainer, trained)
  const [before, after] = trainedWithin
  const earlier = values.filter((_, at) => steps[at]! < from - before).subarray(-2 * window)
  const usual = Series.mean(earlier.slice(1).map((value, at) => Math.abs(value - earlier[at]!)))
  const min = Math.max(partOfJump * Math.abs(rise), Number.isFinite(usual) ? timesUsual * usual : 0)
  return values.some(
    (value, at) =>
      at > 0 &&
      steps[at]! >= from - before &&
      steps[at]! <= from + after &&
      (value - values[at - 1]!) * Math.sign(rise) >= min
  )
}

interface Change {
  readonly metric: string
  readonly jump: Jump.Jump
  readonly steps: Values["steps"]
  /** All scores are the same from then on. */
  readonly isOneScore: boolean
}

/** The first jump of a series of a source at which the policy did not change; without deviations it is of shares. */
const changeOf = (
  recorded: Series.Recorded,
  source: string,
  { metric, trained }: ReturnType<typeof scores>,
  deviations?: Values
): Change | undefined => {
  const series = seriesOf(recorded, source, metric)
  const { steps, values } = series
  const changes = PolicyChange.of(recorded, source)
  if (!changes.isKnown) return undefined
  const oneFrom = deviations === undefined ? Number.POSITIVE_INFINITY : oneScoreFrom(deviations)
  const [found] = Jump.find(values, {
    isOwn: (at) => changes.isAt(steps[at]!),
    least: (at) =>
      deviations === undefined
        ? partOfDeviation * ofShare(meanBefore(series, steps[at]!))
        : minJump(deviations, series, steps[at]!),
    isPlain: (at) => steps[at]! >= oneFrom
  })
  if (found === undefined) return undefined
  // A row of groups from before and after, directly before the first row of one score.
  const isBeforeOne = steps[found.at]! < oneFrom && steps[found.at + 1]! >= oneFrom
  const jump = isBeforeOne && !changes.isAt(steps[found.at + 1]!) ? { ...found, at: found.at + 1 } : found
  const from = steps[jump.at]!
  const isMixed = scoredIn(recorded).length > 1 || recorded.sourcesOf(trained).length === 0
  const isOneScore = from >= oneFrom
  if (!isOneScore && !isMixed && !isTrained(recorded, trained, from, jump.after - jump.before)) return undefined
  return { metric, jump, steps, isOneScore }
}

export const grader: Rule = {
  title: "Grader changed",
  words: `the mean score of five rows or more (three if training undoes it immediately), or their solved share, differs from that of the eight to ten before by more than 7 standard errors, 25% of its range and ${partOfDeviation} standard deviations of a score, or all scores are equal from then on; 60% of it came in one step, larger than any before it, at which neither policy entropy nor answer length changed (at least one must be recorded); if it is the only environment, ${percent(partOfJump)} of it, and ${timesUsual} times its usual change, are in one step of the trainer's reward; no later jump has undone it`,
  judge: (recorded) =>
    scoredIn(recorded).flatMap((source): Findings => {
      const found =
        changeOf(recorded, source, scores(source), deviationsOf(recorded, source)) ??
        changeOf(recorded, source, solved(source))
      if (found === undefined) return []
      const { isOneScore, jump, metric, steps } = found
      const { after, at, before } = jump
      const from = steps[at]!
      const what = isOneScore
        ? `All scores of ${source} are ${written(seriesOf(recorded, source, metric).values[at]!)} since step ${from}, ${written(before)} before`
        : metric === solved(source).metric
          ? `The solved share of ${source} went from ${percent(before)} to ${percent(after)} at step ${from}, in one step`
          : `Scores of ${source} went from ${written(before)} to ${written(after)} at step ${from}, in one step`
      return [
        {
          severity: "broken",
          source,
          metric,
          from,
          to: steps.at(-1)!,
          message: `${what}${HeldOut.inWords(recorded, source)}: the policy did not change there, so check the grader.`
        }
      ]
    })
}
