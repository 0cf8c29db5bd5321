/**
 * Rules for the grader: scores that are no higher for right answers, are out of range, differ between equal answers, or
 * are contradicted by held-out items. With such a finding, nothing of the source counts as solved.
 */
import { type Findings, percent, type Rule, seriesOf, standing, trainer, window } from "./Finding.ts"
import { grader } from "./GraderChange.ts"
import * as HeldOut from "./HeldOut.ts"
import * as Series from "./Series.ts"

export { grader } from "./GraderChange.ts"

export const outOfRange: Rule = {
  title: "Scores out of range",
  words: `in the last ${window} rows of an environment, a score was outside the range it claims: the grader or the claim is wrong`,
  judge: (recorded) =>
    recorded.sourcesOf("train/out_of_range_fraction").flatMap((source): Findings => {
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
    recorded.sourcesOf("train/contradicting_fraction").flatMap((source): Findings => {
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
    recorded.sourcesOf("train/expected_gain").flatMap((source): Findings => {
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
  const isOf = (one: Findings[number]): boolean => source === trainer || one.source === source || one.source === trainer
  // A disagreeing evaluation does not show since when.
  if (heldOut.judge(recorded).some(isOf)) return Number.NEGATIVE_INFINITY
  return [grader, expected, outOfRange, contradictions]
    .flatMap((rule) => rule.judge(recorded))
    .filter(isOf)
    .reduce((first, { from }) => Math.min(first, from), Number.POSITIVE_INFINITY)
}

export const isInDoubt = (recorded: Series.Recorded, source: string): boolean =>
  doubtedFrom(recorded, source) < Number.POSITIVE_INFINITY
