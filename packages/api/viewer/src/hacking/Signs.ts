/**
 * Signs that a reward is had by something else than the task: by length, by saying the same again. Found in the rows of
 * groups, of each environment and step. Pure.
 *
 * Length and score are compared within groups: both less the mean of their group, so that hard items, which need long
 * answers, say nothing. Rows without figures per rollout (not read yet) are left out.
 */
import * as Health from "@atropos/core/health/Health"
import * as MetricTable from "../run/MetricTable.ts"
import { itemOf } from "../source/RowFilter.ts"
import type * as Wire from "../source/Wire.ts"

/** Who recorded what no environment is named for. */
const nobody = "trainer"

export const metrics = {
  correlation: "length_correlation",
  length: "mean_length",
  repeated: "repeated_answers",
  commonest: "commonest_answer"
} as const

export type Sign = keyof typeof metrics

interface Step {
  readonly source: string
  readonly step: number
  readonly at: number
  readonly lengths: Array<number>
  readonly scores: Array<number>
  /** Less the means of their groups. */
  readonly ownLengths: Array<number>
  readonly ownScores: Array<number>
  readonly answers: Map<string, { rollouts: number; readonly items: Set<string> }>
  repeated: number
  told: number
}

const mean = (values: ReadonlyArray<number>): number => values.reduce((sum, value) => sum + value, 0) / values.length

/** Where no group has a step, their order takes its place: so many parts of equal size. */
const parts = 30

/** The step of each row; the rows are the newest first. */
const stepsOf = (rows: ReadonlyArray<Wire.RolloutRow>): ((row: Wire.RolloutRow, place: number) => number | null) => {
  if (rows.some(({ step }) => step !== null)) return ({ step }) => step
  return (_, place) => 1 + Math.floor(((rows.length - 1 - place) * Math.min(parts, rows.length)) / rows.length)
}

const add = (step: Step, row: Wire.RolloutRow): void => {
  const { lengths = [], answers = [] } = row.figures ?? {}
  const { scores } = row
  if (lengths.length === scores.length && scores.length > 1) {
    const [length, score] = [mean(lengths), mean(scores)]
    for (const [place, own] of lengths.entries()) {
      step.lengths.push(own)
      step.scores.push(scores[place]!)
      step.ownLengths.push(own - length)
      step.ownScores.push(scores[place]! - score)
    }
  }
  if (answers.length < 2) return
  const item = itemOf(row) ?? row.id
  const seen = new Map<string, number>()
  for (const answer of answers) {
    seen.set(answer, (seen.get(answer) ?? 0) + 1)
    const known = step.answers.get(answer) ?? { rollouts: 0, items: new Set<string>() }
    known.rollouts++
    known.items.add(item)
    step.answers.set(answer, known)
  }
  step.told += answers.length
  for (const count of seen.values()) if (count > 1) step.repeated += count
}

const collect = (rows: ReadonlyArray<Wire.RolloutRow>): ReadonlyArray<Step> => {
  const steps = new Map<string, Step>()
  const stepOf = stepsOf(rows)
  for (const [place, row] of rows.entries()) {
    const at = stepOf(row, place)
    if (at === null || row.figures === null || row.figures === undefined) continue
    const source = row.environment ?? nobody
    const key = `${at}\n${source}`
    const step = steps.get(key) ?? {
      source,
      step: at,
      at: row.created_at,
      lengths: [],
      scores: [],
      ownLengths: [],
      ownScores: [],
      answers: new Map(),
      repeated: 0,
      told: 0
    }
    steps.set(key, step)
    add(step, row)
  }
  return [...steps.values()].sort((left, right) => left.step - right.step)
}

/** The share of the answer that most rollouts of a step gave to different items. */
const commonestOf = ({ answers, told }: Step): number =>
  Math.max(0, ...[...answers.values()].map(({ items, rollouts }) => (items.size > 1 ? rollouts / told : 0)))

/** By environment and step, as metrics are. */
export const tableOf = (rows: ReadonlyArray<Wire.RolloutRow>): MetricTable.MetricTable =>
  MetricTable.make(
    collect(rows).map((step) => {
      const tie = Health.correlation(step.ownLengths, step.ownScores)
      return {
        source: step.source,
        step: step.step,
        at: step.at,
        values: {
          ...(tie !== undefined && { [metrics.correlation]: tie }),
          ...(step.lengths.length > 0 && { [metrics.length]: mean(step.lengths) }),
          ...(step.told > 0 && {
            [metrics.repeated]: step.repeated / step.told,
            [metrics.commonest]: commonestOf(step)
          })
        }
      }
    })
  )

/** What was found, in words. */
export interface Found {
  readonly sign: Sign
  readonly title: string
  /** An environment; null where groups have none. */
  readonly environment: string | null
  readonly from: number
  readonly to: number
  readonly says: string
}

const paid = 0.4
const often = 0.5
const more = 0.2

interface Rule {
  readonly sign: Sign
  readonly title: string
  readonly isMet: (now: number, first: number) => boolean
  readonly says: (now: number, first: number | undefined) => string
}

const before = (first: number | undefined, written: (value: number) => string): string =>
  first === undefined ? "" : `, ${written(first)} at first`

const rules: ReadonlyArray<Rule> = [
  {
    sign: "correlation",
    title: "Longer answers score higher",
    isMet: (now) => now >= paid,
    says: (now, first) =>
      `within a group, the longer answer has the higher score: correlation ${now.toFixed(2)}${before(first, (value) => value.toFixed(2))}`
  },
  {
    sign: "correlation",
    title: "Shorter answers score higher",
    isMet: (now) => now <= -paid,
    says: (now, first) =>
      `within a group, the shorter answer has the higher score: correlation ${now.toFixed(2)}${before(first, (value) => value.toFixed(2))}`
  },
  {
    sign: "repeated",
    title: "The same answers again",
    isMet: (now, first) => now >= often && now >= first + more,
    says: (now, first) =>
      `${Health.percent(now)} of the answers are word for word that of another rollout of their group${before(first, Health.percent)}`
  },
  {
    sign: "commonest",
    title: "One answer to everything",
    isMet: (now, first) => now >= often && now >= first + more,
    says: (now, first) =>
      `${Health.percent(now)} of the answers of a step are one and the same, given to different items${before(first, Health.percent)}`
  }
]

/** The rules in words, with their thresholds. */
export const rulesInWords = `Told is what holds for the mean of the last ${Health.window} steps of an environment: a correlation of ${paid} or more either way; answers that half of the rollouts repeat, and a fifth more than in the first ${Health.window} steps.`

export const find = (table: MetricTable.MetricTable): ReadonlyArray<Found> =>
  rules.flatMap(({ isMet, says, sign, title }) =>
    table.sourcesOf(metrics[sign]).flatMap((source) => {
      const series = Health.finite(table.points(source, metrics[sign]))
      const first = Health.atFirst(series)
      const found = Health.standing(series, (now) => isMet(now, first ?? 0))
      if (found === undefined) return []
      const who = source === nobody ? "" : ` of ${source}`
      return [
        {
          sign,
          title,
          environment: source === nobody ? null : source,
          from: found.from,
          to: found.to,
          says: `In the last ${Health.window} steps${who}, ${says(found.now, first)} (since step ${found.from}).`
        }
      ]
    })
  )

/** Length and score of rollouts, some of the first third of the steps and some of the last. */
export const pairs = (
  rows: ReadonlyArray<Wire.RolloutRow>,
  most: number
): {
  readonly early: ReadonlyArray<readonly [number, number]>
  readonly late: ReadonlyArray<readonly [number, number]>
} => {
  const told = rows.filter(({ figures, scores }) => figures?.lengths?.length === scores.length).toReversed()
  const third = Math.ceil(told.length / 3)
  const of = (some: ReadonlyArray<Wire.RolloutRow>) => {
    const all = some.flatMap(({ figures, scores }) =>
      scores.map((score, at) => [figures!.lengths[at]!, score] as const)
    )
    const every = Math.max(1, Math.ceil(all.length / most))
    return all.filter((_, at) => at % every === 0)
  }
  return { early: of(told.slice(0, third)), late: of(told.slice(Math.max(third, told.length - third))) }
}
