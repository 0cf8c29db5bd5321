/** Computes the headline metrics of a run: progress, reward, speed. Pure; null while unknown. */
import * as Health from "@atropos/core/health/Health"
import * as Catalog from "../chart/Catalog.ts"
import * as Curves from "../chart/Curves.ts"
import type { MetricTable, Points } from "../metrics/MetricTable.ts"

export interface Headline {
  readonly step: number | null
  /** Total steps planned by the trainer. */
  readonly totalSteps: number | null
  readonly reward: Health.Course | null
  /** The reward of each step, without non-finite values. */
  readonly rewards: Float64Array
  /** Steps that did not update the weights, and how many of them were due to NaN or infinity. */
  readonly skipped: { readonly steps: number; readonly notFinite: number } | null
  /**
   * Trained tokens per second of step time, waiting included, as in the console; for a trainer without token counts or
   * step times, its own metric, which excludes waiting.
   */
  readonly tokensPerSecond: number | null
  /** False if that speed excludes waiting; null without one. */
  readonly isWaitingIncluded: boolean | null
  /** Total seconds of all steps, as in the console; for a trainer without step times, from first to last row. */
  readonly elapsed: number | null
  /** Seconds, waiting included. */
  readonly stepTime: number | null
  /** Seconds until the last step at the recent pace; null if the end is unknown or reached. */
  readonly remaining: number | null
  /** The latest evaluation, by the first available score. */
  readonly evaluation: Evaluation | null
}

interface Evaluation {
  readonly name: string
  readonly value: number
  readonly step: number
  /** The first value of the same source; null if there is only one. */
  readonly first: number | null
  /** Bounds of the 95% confidence interval; null if not recorded. */
  readonly interval: readonly [low: number, high: number] | null
}

export const recentSteps = Health.window

/** Scores that represent evaluations, in order of preference. */
const scores = ["eval/percent_correct", "eval/mean_score"]

/** `totalSteps` is the run's; -1 or 0 if unknown. */
export const of = (table: MetricTable, totalSteps: number): Headline => {
  const reward = firstOf(table, ["reward/mean", "train/scores_mean"])
  const stepTime = mean(recent(firstOf(table, ["train/step_time"])))
  const step = lastStep(table)
  const total = totalSteps > 0 ? totalSteps : null
  return {
    step,
    totalSteps: total,
    reward: Health.courseOf(reward),
    rewards: reward.values,
    skipped: skippedOf(table),
    ...speedOf(table, stepTime),
    elapsed: elapsedOf(table),
    stepTime,
    remaining: stepTime === null || step === null || total === null || step >= total ? null : (total - step) * stepTime,
    evaluation: latest(table, [...scores, ...table.names().filter((name) => name.startsWith("eval/pass@"))])
  }
}

const speedOf = (
  table: MetricTable,
  stepTime: number | null
): Pick<Headline, "tokensPerSecond" | "isWaitingIncluded"> => {
  const tokens = mean(recent(firstOf(table, ["train/tokens"])))
  if (tokens !== null && stepTime !== null) return { tokensPerSecond: tokens / stepTime, isWaitingIncluded: true }
  const tokensPerSecond = mean(recent(firstOf(table, ["train/tokens_per_second"])))
  return { tokensPerSecond, isWaitingIncluded: tokensPerSecond === null ? null : false }
}

const elapsedOf = (table: MetricTable): number | null => {
  const { values } = firstOf(table, ["train/step_time"])
  if (values.length > 0) return values.reduce((sum, seconds) => sum + seconds, 0)
  const times = table.times()
  return times === null || times.last === times.first ? null : (times.last - times.first) / 1000
}

/** The trainer's step; the environments' until it has one. */
const lastStep = (table: MetricTable): number | null =>
  firstOf(table, ["reward/mean", "train/loss"]).steps.at(-1) ?? table.steps()?.last ?? null

/** The first source of the first recorded metric, without non-finite values. */
const firstOf = (table: MetricTable, names: ReadonlyArray<string>): Points => {
  const name = names.find((name) => table.sourcesOf(name).length > 0) ?? ""
  return finiteOf(table, table.sourcesOf(name)[0] ?? "", name)
}

const finiteOf = (table: MetricTable, source: string, name: string): Points => {
  const points = table.points(source, name)
  const isFinite = (_: number, index: number) => Number.isFinite(points.values[index]!)
  return points.values.every(Number.isFinite)
    ? points
    : {
        steps: points.steps.filter(isFinite),
        times: points.times.filter(isFinite),
        values: points.values.filter(isFinite)
      }
}

const recent = ({ values }: Points): Float64Array => values.subarray(-recentSteps)

const skippedOf = (table: MetricTable): Headline["skipped"] => {
  const stepsOf = (name: string) => firstOf(table, [name]).values.reduce((sum, value) => sum + (value > 0 ? 1 : 0), 0)
  const steps = stepsOf("train/skipped")
  return steps === 0 ? null : { steps, notFinite: stepsOf("train/skipped_not_finite") }
}

/** Over all sources: the highest step, and among evaluations of that step the latest. */
const latest = (table: MetricTable, names: ReadonlyArray<string>): Headline["evaluation"] => {
  for (const name of names) {
    const [newest] = table
      .sourcesOf(name)
      .map((source) => ({ source, ...finiteOf(table, source, name) }))
      .filter(({ steps }) => steps.length > 0)
      .toSorted((one, other) => other.steps.at(-1)! - one.steps.at(-1)! || other.times.at(-1)! - one.times.at(-1)!)
    if (newest === undefined) continue
    const { source, steps, values } = newest
    return {
      name,
      value: values.at(-1)!,
      step: steps.at(-1)!,
      first: values.length > 1 ? values[0]! : null,
      interval: intervalOf(table, source, name, newest)
    }
  }
  return null
}

/** The interval that the chart of the metric draws at its last point. */
const intervalOf = (table: MetricTable, source: string, name: string, points: Points): Evaluation["interval"] => {
  const spread = Catalog.spreadOf(name, table.names())
  const bounds = spread && Curves.spreadOf(Catalog.unitOf(name), spread, points, table, source)
  if (!bounds) return null
  const [low, high] = [bounds.low, bounds.high].map(
    ({ steps, values }) => values[steps.lastIndexOf(points.steps.at(-1)!)]
  )
  return low === undefined || high === undefined ? null : [low, high]
}

const mean = (values: Float64Array): number | null =>
  values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
