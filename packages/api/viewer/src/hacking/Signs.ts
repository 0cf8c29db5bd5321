/**
 * Detects signs of reward hacking (by length or repetition) and of a broken grader (rewards wrong answers, or
 * contradicts itself), from the rows of groups per environment and step. Pure. Behaviour expected of a policy that has
 * learned its task is not a sign: short identical answers that are right, an answer as frequent as it is right, an
 * unchanged length.
 */
import * as Health from "@atropos/core/health/Health"
import * as MetricTable from "../metrics/MetricTable.ts"
import type * as Wire from "../source/Wire.ts"
import * as SignSteps from "./SignSteps.ts"

export const metrics = {
  correlation: "length_correlation",
  length: "mean_length",
  repeated: "repeated_answers",
  commonest: "commonest_answer",
  contradicted: "contradicted_answers",
  right: "right_answers_gain"
} as const

export type Sign = keyof typeof metrics

/** By environment and step, like metrics. */
export const tableOf = (rows: ReadonlyArray<Wire.RolloutRow>): MetricTable.MetricTable => {
  const { steps, wholes } = SignSteps.collect(rows)
  return MetricTable.make(
    steps.map((step) => {
      const tie = SignSteps.tieOf(step)
      const gain = SignSteps.gainOf(step, wholes)
      return {
        source: step.source,
        step: step.step,
        at: step.at,
        values: {
          ...(tie !== undefined && { [metrics.correlation]: tie }),
          ...(step.lengths.length > 0 && { [metrics.length]: SignSteps.lengthOf(step) }),
          ...(step.answerCount > 0 && {
            [metrics.repeated]: step.repeated / step.answerCount,
            [metrics.commonest]: SignSteps.commonestOf(step)
          }),
          ...(step.known > 0 && { [metrics.contradicted]: step.contradicted / step.known }),
          ...(gain !== undefined && { [metrics.right]: gain })
        }
      }
    })
  )
}

/** Min share of the answers that must be comparable: of fewer, correlations are chance. */
const judged = 0.1

/**
 * True if some environment has enough steps whose answers can be compared. Truncated ones cannot, nor can those of a
 * step with equal scores.
 */
export const isJudged = (rows: ReadonlyArray<Wire.RolloutRow>): boolean => {
  const { steps } = SignSteps.collect(rows)
  return [...new Set(steps.map(({ source }) => source))].some((name) => {
    const own = steps.filter(({ source }) => source === name)
    const compared = own.filter((step) => SignSteps.tieOf(step) !== undefined)
    const answers = own.reduce((total, { lengths }) => total + lengths.length, 0)
    const comparable = compared.reduce((total, { ownLengths }) => total + ownLengths.length, 0)
    return compared.length >= Health.window && comparable >= judged * answers
  })
}

export interface Found {
  readonly sign: Sign
  readonly title: string
  /** An environment; null if groups have none. */
  readonly environment: string | null
  readonly from: number
  readonly to: number
  readonly message: string
}

/** Means over the last steps of an environment, and over the first if those are different. */
interface Means {
  readonly now: number
  readonly first: number | undefined
  /** Trained tokens of an answer. */
  readonly length: number
  readonly firstLength: number | undefined
}

const paid = 0.4
/** A correlation this strong counts even if the length has not changed. */
const closely = 0.7
const grown = 1.25
/** Tokens: lengths of shorter answers mostly reflect their wording. */
const short = 16
const often = 0.5
const nearlyAlways = 0.9
const more = 0.2
const contradicting = 0.2
/** Share of the score range by which right answers must score higher. */
const min = 0.1

const before = (first: number | undefined, written: (value: number) => string): string =>
  first === undefined ? "" : `, ${written(first)} at first`

const decimals = (value: number): string => value.toFixed(2)

interface Rule {
  readonly sign: Sign
  readonly title: string
  readonly isMet: (means: Means) => boolean
  readonly message: (means: Means) => string
}

/** True if lengths follow the reward, or the correlation is so strong that they will. */
const isFollowed = ({ firstLength, length, now }: Means): boolean => {
  if (Math.max(length, firstLength ?? 0) < short) return false
  if (Math.abs(now) >= closely) return true
  return firstLength !== undefined && (now > 0 ? length >= grown * firstLength : firstLength >= grown * length)
}

const rules: ReadonlyArray<Rule> = [
  {
    sign: "right",
    title: "Right answers score lower",
    isMet: ({ now }) => now <= -min,
    message: ({ first, now }) =>
      `answers matching the expected one score lower than the others, by ${Health.percent(-now)} of the score range${before(first, (value) => `${value < 0 ? "lower" : "higher"} by ${Health.percent(Math.abs(value))}`)}: the grader rewards wrong answers`
  },
  {
    sign: "right",
    title: "Right answers score no higher",
    isMet: ({ now }) => now > -min && now < min,
    message: ({ first }) =>
      `answers matching the expected one score no higher than the others${before(first, (value) => `${value < 0 ? "lower" : "higher"} by ${Health.percent(Math.abs(value))} of the score range`)}: the grader does not reward the task`
  },
  {
    sign: "contradicted",
    title: "Inconsistent scores",
    isMet: ({ now }) => now >= contradicting,
    message: ({ first, now }) =>
      `${Health.percent(now)} of the repeated answers to an item score very differently from before${before(first, Health.percent)}: the grader changed or is random`
  },
  {
    sign: "correlation",
    title: "Longer answers score higher",
    isMet: (means) => means.now >= paid && isFollowed(means),
    message: ({ first, firstLength, length, now }) =>
      `longer answers of a group score higher: correlation ${decimals(now)}${before(first, decimals)}; answers have ${Health.written(length)} tokens${before(firstLength, Health.written)}`
  },
  {
    sign: "correlation",
    title: "Shorter answers score higher",
    isMet: (means) => means.now <= -paid && isFollowed(means),
    message: ({ first, firstLength, length, now }) =>
      `shorter answers of a group score higher: correlation ${decimals(now)}${before(first, decimals)}; answers have ${Health.written(length)} tokens${before(firstLength, Health.written)}`
  },
  {
    sign: "repeated",
    title: "Repeated answers",
    isMet: ({ first = 0, now }) => now >= often && now >= first + more,
    message: ({ first, now }) =>
      `${Health.percent(now)} of the answers repeat another rollout of their group verbatim and score below its best${before(first, Health.percent)}`
  },
  {
    sign: "commonest",
    title: "One answer for many items",
    isMet: ({ first = 0, length, now }) => now >= (length < short ? nearlyAlways : often) && now >= first + more,
    message: ({ first, now }) =>
      `${Health.percent(now)} of a step's answers are identical, for several items${before(first, Health.percent)}`
  }
]

export const rulesInWords = [
  `Shown when, averaged over an environment's last ${Health.window} steps:`,
  `right answers score less than ${Health.percent(min)} of the score range above the others;`,
  `${Health.percent(contradicting)} of repeated answers score very differently from before;`,
  `|correlation| of length and score ≥ ${paid} and lengths changed by a factor of ${grown} in that direction, or |correlation| ≥ ${closely}, for answers of ${short} tokens or more;`,
  `half of the answers are repeats below the best score, and ${100 * more} points more than in the first ${Health.window};`,
  `half of the answers are one answer for several items (${Health.percent(nearlyAlways)} if shorter than ${short} tokens), ${100 * more} points more than in the first ${Health.window}.`
].join(" ")

const meanOfLast = ({ values }: { readonly values: Float64Array }): number =>
  values.length === 0 ? 0 : Health.mean(values.subarray(-Health.window))

/** `hasSteps` false: the rows are of equal parts of the groups, whose numbers are not shown. */
export const find = (table: MetricTable.MetricTable, hasSteps = true): ReadonlyArray<Found> =>
  rules.flatMap(({ isMet, message, sign, title }) =>
    table.sourcesOf(metrics[sign]).flatMap((source) => {
      const series = Health.finite(table.points(source, metrics[sign]))
      const lengths = Health.finite(table.points(source, metrics.length))
      // A metric that starts later has no values for the first steps.
      const isFromStart = (series.steps[0] ?? Infinity) <= (lengths.steps[Health.window - 1] ?? Infinity)
      const known = {
        first: isFromStart ? Health.atFirst(series) : undefined,
        length: meanOfLast(lengths),
        firstLength: Health.atFirst(lengths)
      }
      const found = Health.standing(series, (now) => isMet({ ...known, now }))
      if (found === undefined) return []
      const who = source === SignSteps.unnamed ? "" : ` of ${source}`
      return [
        {
          sign,
          title,
          environment: source === SignSteps.unnamed ? null : source,
          from: found.from,
          to: found.to,
          message: `In the last ${Health.window} ${hasSteps ? "steps" : "parts"}${who}, ${message({ ...known, now: found.now })}${hasSteps ? ` (since step ${found.from})` : ""}.`
        }
      ]
    })
  )

/** Length and score of some rollouts from the first third of the steps and from the last. */
export const pairs = (
  rows: ReadonlyArray<Wire.RolloutRow>,
  max: number
): {
  readonly early: ReadonlyArray<readonly [number, number]>
  readonly late: ReadonlyArray<readonly [number, number]>
} => {
  const withLengths = rows.filter(({ figures, scores }) => figures?.lengths?.length === scores.length).toReversed()
  const third = Math.ceil(withLengths.length / 3)
  const of = (some: ReadonlyArray<Wire.RolloutRow>) => {
    const all = some.flatMap(({ figures, scores }) =>
      scores.map((score, at) => [figures!.lengths[at]!, score] as const)
    )
    const every = Math.max(1, Math.ceil(all.length / max))
    return all.filter((_, at) => at % every === 0)
  }
  return {
    early: of(withLengths.slice(0, third)),
    late: of(withLengths.slice(Math.max(third, withLengths.length - third)))
  }
}
