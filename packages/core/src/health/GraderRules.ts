/**
 * Rules for the grader: scores that jump while the policy is unchanged, are no higher for right answers, are out of
 * range, differ between equal answers, or are contradicted by held-out items. With such a finding, nothing of the
 * source counts as solved.
 */
import { type Finding, percent, type Rule, seriesOf, standing, trainer, window, written } from "./Finding.ts"
import * as HeldOut from "./HeldOut.ts"
import * as Jump from "./Jump.ts"
import * as PolicyChange from "./PolicyChange.ts"
import * as Series from "./Series.ts"

type Told = ReadonlyArray<Omit<Finding, "rule">>

/** The environments' scores, because a trainer's reward mixes them; the trainer's if no environment reports any. */
const scoresOf = (recorded: Series.Recorded) => {
  const environments = recorded
    .sourcesOf("train/scores_mean")
    .map((source) => ({ source, metric: "train/scores_mean" }))
  return environments.length > 0 ? environments : [{ source: trainer, metric: "reward/mean" }]
}

const deviationsOf = (recorded: Series.Recorded, source: string) =>
  seriesOf(recorded, source, source === trainer ? "reward/std" : "train/scores_std")

/** The first step from which on all scores are equal; Infinity if they differ. */
const oneScoreFrom = ({ steps, values }: ReturnType<typeof deviationsOf>): number =>
  steps[values.findLastIndex((deviation) => deviation !== 0) + 1] ?? Number.POSITIVE_INFINITY

/** Min jump relative to the standard deviation of the scores before it, unless all scores are equal afterwards. */
const partOfDeviation = 0.65

/** Min jump at a step. If no deviation is recorded, scores between 0 and 1 are treated as shares of correct answers. */
const minJump = (
  deviations: ReturnType<typeof deviationsOf>,
  scores: ReturnType<typeof seriesOf>,
  step: number
): number => {
  if (step >= oneScoreFrom(deviations)) return 0
  const before = ({ steps, values }: typeof deviations) => values.filter((_, at) => steps[at]! < step).subarray(-window)
  const known = before(deviations)
  const mean = Series.mean(before(scores))
  const deviation =
    known.length > 0 ? Series.mean(known) : mean > 0 && mean < 1 ? Math.sqrt(mean * (1 - mean)) : Math.abs(mean)
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
const isInReward = (recorded: Series.Recorded, from: number, rise: number): boolean => {
  const { steps, values } = seriesOf(recorded, trainer, "reward/mean")
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

export const grader: Rule = {
  title: "Grader changed",
  words: `the mean score of five rows or more (three if training undoes it immediately) differs from that of the eight to ten before by more than 7 standard errors, 25% of its range and ${partOfDeviation} standard deviations of a score, or all scores are equal from then on; 60% of it came in one step, larger than any before it, at which neither policy entropy nor answer length changed (at least one must be recorded); if it is the only environment, ${percent(partOfJump)} of it, and ${timesUsual} times its usual change, are in one step of the trainer's reward; no later jump has undone it`,
  judge: (recorded) =>
    scoresOf(recorded).flatMap(({ metric, source }, _, all): Told => {
      const scores = seriesOf(recorded, source, metric)
      const { steps, values } = scores
      const changes = PolicyChange.of(recorded, source)
      if (!changes.isKnown) return []
      const deviations = deviationsOf(recorded, source)
      const oneFrom = oneScoreFrom(deviations)
      const [jump] = Jump.find(values, {
        isOwn: (at) => changes.isAt(steps[at]!),
        least: (at) => minJump(deviations, scores, steps[at]!),
        isPlain: (at) => steps[at]! >= oneFrom
      })
      if (jump === undefined) return []
      const { after, at, before } = jump
      const from = steps[at]!
      const isMixed = all.length > 1 || recorded.sourcesOf("reward/mean").length === 0
      if (from < oneFrom && !isMixed && !isInReward(recorded, from, after - before)) return []
      const what =
        from >= oneFrom
          ? `All scores of ${source} are ${written(values[at]!)} since step ${from}, ${written(before)} before`
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

export const outOfRange: Rule = {
  title: "Scores out of range",
  words: `in the last ${window} rows of an environment, a score was outside the range it claims: the grader or the claim is wrong`,
  judge: (recorded) =>
    recorded.sourcesOf("train/out_of_range_fraction").flatMap((source): Told => {
      const metric = "train/out_of_range_fraction"
      const { steps, values } = seriesOf(recorded, source, metric)
      const recent = values.subarray(-window)
      if (!recent.some((share) => share > 0)) return []
      const from = steps[values.findIndex((share) => share > 0)]!
      return [
        {
          severity: "broken",
          source,
          metric,
          from,
          to: steps.at(-1)!,
          message: `${percent(Series.mean(recent))} of the latest scores of ${source} are outside the range it claims, since step ${from}: check its grader or the claim (atropos validate lists them).`
        }
      ]
    })
}

/** Contradictions at or above this share mean a random grader; a model as judge differs occasionally. */
const contradicting = 0.2

export const contradictions: Rule = {
  title: "Inconsistent scores",
  words: `over the last ${window} rows of an environment with equal answers to an item, ${percent(contradicting)} of these have scores that differ by half of the range of all scores or more`,
  judge: (recorded) =>
    recorded.sourcesOf("train/contradicting_fraction").flatMap((source): Told => {
      const metric = "train/contradicting_fraction"
      const found = standing(seriesOf(recorded, source, metric), (share) => share >= contradicting)
      if (found === undefined) return []
      return [
        {
          severity: "broken",
          source,
          metric,
          from: found.from,
          to: found.to,
          message: `${percent(found.now)} of equal answers of ${source} have different scores since step ${found.from}: its grader is random, or scores more than the answer.`
        }
      ]
    })
}

/** Min share of the score range by which answers that match the expected one score higher than the others. */
const minGain = 0.1
/** Standard errors by which a smaller gain must exceed 0: all answers may earn nearly the same. */
const minErrors = 4

export const expected: Rule = {
  title: "Right answers earn nothing",
  words: `over the last ${window} rows of an environment with expected answers, matching answers score less than ${percent(minGain)} of the score range above the others, and less than ${minErrors} standard errors above`,
  judge: (recorded) =>
    recorded.sourcesOf("train/expected_gain").flatMap((source): Told => {
      const metric = "train/expected_gain"
      const gains = seriesOf(recorded, source, metric)
      const found = standing(gains, (gain) => gain < minGain)
      const recent = gains.values.subarray(-window)
      if (found === undefined || found.now > minErrors * Math.sqrt(Series.variance(recent) / recent.length)) return []
      const isInverted = found.now < -minGain
      return [
        {
          severity: isInverted ? "broken" : "suspect",
          source,
          metric,
          from: found.from,
          to: found.to,
          message: `Answers of ${source} that match the expected one score ${isInverted ? "less than" : "no better than"} the others since step ${found.from}: its grader ${isInverted ? "is inverted" : "is random, or rewards something else"}.`
        }
      ]
    })
}

export const heldOut: Rule = {
  title: "Held-out score differs",
  words: HeldOut.words,
  judge: (recorded) =>
    HeldOut.disagreements(recorded).map(({ held, metric, source, step, trained }) => ({
      severity: trained > held ? ("suspect" as const) : ("broken" as const),
      source,
      metric,
      from: step,
      to: step,
      message:
        trained > held
          ? `${percent(trained)} of the training answers of ${source} count as solved at step ${step}, and ${percent(held)} of the held-out ones: its training items are memorized, or its grader rewards something else.`
          : `${percent(trained)} of the training answers of ${source} count as solved at step ${step}, though ${percent(held)} of the held-out ones do: check the grader and the answers of its training items.`
    }))
}

/**
 * The first step since which the solved share of a source is unreliable; infinite if it is reliable. The trainer's is
 * unreliable as soon as that of any environment is.
 */
export const doubtedFrom = (recorded: Series.Recorded, source: string): number => {
  const isOf = (one: Told[number]): boolean => source === trainer || one.source === source || one.source === trainer
  // A disagreeing evaluation does not show since when.
  if (heldOut.judge(recorded).some(isOf)) return Number.NEGATIVE_INFINITY
  return [grader, expected, outOfRange, contradictions]
    .flatMap((rule) => rule.judge(recorded))
    .filter(isOf)
    .reduce((first, { from }) => Math.min(first, from), Number.POSITIVE_INFINITY)
}

export const isInDoubt = (recorded: Series.Recorded, source: string): boolean =>
  doubtedFrom(recorded, source) < Number.POSITIVE_INFINITY
