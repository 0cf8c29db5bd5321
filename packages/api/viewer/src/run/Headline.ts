/**
 * The figures at the head of a run: where it is, how it fares, how fast it goes. Pure; null where nothing is known yet.
 */
import type { MetricTable, Points } from "./MetricTable.ts"

export interface Headline {
  readonly step: number | null
  /** Steps the trainer means to take. */
  readonly totalSteps: number | null
  readonly reward: Reward | null
  /** Steps that left the weights alone, and those of them in which something was not a number. */
  readonly skipped: { readonly steps: number; readonly notFinite: number } | null
  /**
   * Tokens trained by the time of their steps, waiting included, as the console has it; of a trainer that counts none,
   * what it says itself.
   */
  readonly tokensPerSecond: number | null
  /** Seconds from the first row to the last. */
  readonly elapsed: number | null
  /** Seconds, waiting included. */
  readonly stepTime: number | null
  /** Seconds until the last step, at the pace of the last ones; null where the end is unknown or reached. */
  readonly remaining: number | null
  /** The latest evaluation of each score, best known first. */
  readonly evaluation: { readonly name: string; readonly value: number; readonly step: number } | null
}

/** Means over `window` steps: of the last, of those before them, of the first, and of the best there were. */
export interface Reward {
  readonly window: number
  readonly now: number
  readonly before: number
  readonly start: number
  /** `step` is the last of them. */
  readonly best: { readonly value: number; readonly step: number }
  /** How far it is below its best, where that is more than chance: else 0. */
  readonly fallen: number
}

/** Over how many steps figures are averaged. */
export const recentSteps = 10

/** Which of the evaluations' scores stands for them. */
const scores = ["eval/percent_correct", "eval/mean_score"]

/** `totalSteps` is the run's; -1 or 0 where it did not say. */
export const of = (table: MetricTable, totalSteps: number): Headline => {
  const reward = firstOf(table, ["reward/mean", "train/scores_mean"])
  const stepTime = mean(recent(firstOf(table, ["train/step_time"])))
  const step = lastStep(table)
  const times = table.times()
  const total = totalSteps > 0 ? totalSteps : null
  return {
    step,
    totalSteps: total,
    reward: rewardOf(reward),
    skipped: skippedOf(table),
    tokensPerSecond: speedOf(table, stepTime),
    elapsed: times === null ? null : (times.last - times.first) / 1000,
    stepTime,
    remaining: stepTime === null || step === null || total === null || step >= total ? null : (total - step) * stepTime,
    evaluation: latest(table, [...scores, ...table.names().filter((name) => name.startsWith("eval/pass@"))])
  }
}

const speedOf = (table: MetricTable, stepTime: number | null): number | null => {
  const tokens = mean(recent(firstOf(table, ["train/tokens"])))
  return tokens === null || stepTime === null
    ? mean(recent(firstOf(table, ["train/tokens_per_second"])))
    : tokens / stepTime
}

/** The trainer's step; while it has none, the environments'. */
const lastStep = (table: MetricTable): number | null =>
  firstOf(table, ["reward/mean", "train/loss"]).steps.at(-1) ?? table.steps()?.last ?? null

/** Of the first of the metrics that is recorded, the first source; without what is not finite. */
const firstOf = (table: MetricTable, names: ReadonlyArray<string>): Points => {
  const name = names.find((name) => table.sourcesOf(name).length > 0) ?? ""
  const points = table.points(table.sourcesOf(name)[0] ?? "", name)
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

/** Windows are shorter where there are not enough values for two of them. */
const rewardOf = ({ steps, values }: Points): Reward | null => {
  if (values.length === 0) return null
  const window = Math.max(1, Math.min(recentSteps, Math.floor(values.length / 2)))
  const means = meansOver(values, window)
  const now = means.at(-1)!
  let [best, worst] = [0, 0]
  for (let index = 1; index < means.length; index++) {
    if (means[index]! > means[best]!) best = index
    if (means[index]! < means[worst]!) worst = index
  }
  const below = means[best]! - now
  const chance = errorBetween(values.subarray(best, best + window), values.subarray(-window))
  const isFallen = below > surely * chance && below > noticeable * (means[best]! - means[worst]!)
  return {
    window,
    now,
    before: means.at(-1 - window) ?? now,
    start: means[0]!,
    best: { value: means[best]!, step: steps[best + window - 1]! },
    fallen: isFallen ? below : 0
  }
}

/** A fall is one of so many standard errors, the best being the best of many. */
const surely = 4
/** A fall is at least this part of all that the run has gone through. */
const noticeable = 0.1

/** Mean of each stretch of so many values. */
const meansOver = (values: Float64Array, window: number): Float64Array =>
  Float64Array.from({ length: values.length - window + 1 }, (_, from) => mean(values.subarray(from, from + window))!)

/** Standard error of the difference of two means. */
const errorBetween = (left: Float64Array, right: Float64Array): number =>
  Math.sqrt(varianceOf(left) / left.length + varianceOf(right) / right.length)

const varianceOf = (values: Float64Array): number => {
  const center = mean(values)!
  return values.reduce((sum, value) => sum + (value - center) ** 2, 0) / Math.max(1, values.length - 1)
}

const skippedOf = (table: MetricTable): Headline["skipped"] => {
  const stepsOf = (name: string) => firstOf(table, [name]).values.reduce((sum, value) => sum + (value > 0 ? 1 : 0), 0)
  const steps = stepsOf("train/skipped")
  return steps === 0 ? null : { steps, notFinite: stepsOf("train/skipped_not_finite") }
}

const latest = (table: MetricTable, names: ReadonlyArray<string>): Headline["evaluation"] => {
  for (const name of names) {
    const { steps, values } = firstOf(table, [name])
    const value = values.at(-1)
    const step = steps.at(-1)
    if (value !== undefined && step !== undefined) return { name, value, step }
  }
  return null
}

const mean = (values: Float64Array): number | null =>
  values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
