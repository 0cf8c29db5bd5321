/** The figures at the head of a run: where it is, how it fares, how fast it goes. Pure; null where nothing is known yet. */
import type { MetricTable, Points } from "./MetricTable.ts"

export interface Headline {
  readonly step: number | null
  /** Steps the trainer means to take. */
  readonly totalSteps: number | null
  /** Means of the last steps, of the steps before those, and of the first steps. */
  readonly reward: { readonly now: number; readonly before: number; readonly start: number } | null
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
    reward: changeOf(reward.values),
    tokensPerSecond: mean(recent(firstOf(table, ["train/tokens_per_second"]))),
    elapsed: times === null ? null : (times.last - times.first) / 1000,
    stepTime,
    remaining: stepTime === null || step === null || total === null || step >= total ? null : (total - step) * stepTime,
    evaluation: latest(table, [...scores, ...table.names().filter((name) => name.startsWith("eval/pass@"))])
  }
}

/** The trainer's step; while it has none, the environments'. */
const lastStep = (table: MetricTable): number | null =>
  firstOf(table, ["reward/mean", "train/loss"]).steps.at(-1) ?? table.steps()?.last ?? null

/** Of the first of the metrics that is recorded, the first source. */
const firstOf = (table: MetricTable, names: ReadonlyArray<string>): Points => {
  const name = names.find((name) => table.sourcesOf(name).length > 0) ?? ""
  return table.points(table.sourcesOf(name)[0] ?? "", name)
}

const recent = ({ values }: Points): Float64Array => values.subarray(-recentSteps)

/** Windows are shorter where there are not enough values for two of them. */
const changeOf = (values: Float64Array): Headline["reward"] => {
  const now = mean(values.subarray(-recentSteps))
  if (now === null) return null
  const window = Math.min(recentSteps, Math.floor(values.length / 2))
  if (window === 0) return { now, before: now, start: now }
  return {
    now: mean(values.subarray(-window))!,
    before: mean(values.subarray(-2 * window, -window))!,
    start: mean(values.subarray(0, window))!
  }
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
