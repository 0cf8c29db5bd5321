/** Computes the headline metrics of a run: progress, reward, speed. Pure; null while unknown. */
import * as Health from "@atropos/core/health/Health"
import type { MetricTable, Points } from "../metrics/MetricTable.ts"
import * as HeldOut from "./HeldOut.ts"

export interface Headline {
  readonly step: number | null
  /** Total steps planned by the trainer. */
  readonly totalSteps: number | null
  readonly reward: Health.Course | null
  /** The reward of each step, without non-finite values. */
  readonly rewards: Float64Array
  readonly loss: Health.Course | null
  readonly losses: Float64Array
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
  /** The number of steps that speed and step time are means of; null if of all. */
  readonly recentSteps: number | null
  /** Seconds, waiting included. */
  readonly stepTime: number | null
  /** Seconds until the last step at the recent pace; null if the end is unknown or reached. */
  readonly remaining: number | null
  /** The latest evaluation, by the first available score. */
  readonly evaluation: HeldOut.HeldOut | null
}

export const recentSteps = Health.window

/** `totalSteps` is the run's; -1 or 0 if unknown. */
export const of = (table: MetricTable, totalSteps: number): Headline => {
  const reward = firstOf(table, ["reward/mean", "train/scores_mean"])
  const loss = firstOf(table, ["train/loss"])
  const stepTime = mean(recent(firstOf(table, ["train/step_time"])))
  const step = lastStep(table)
  const total = totalSteps > 0 ? totalSteps : null
  return {
    step,
    totalSteps: total,
    reward: Health.courseOf(reward),
    rewards: reward.values,
    loss: Health.courseOf(loss),
    losses: loss.values,
    skipped: skippedOf(table),
    ...speedOf(table, stepTime),
    elapsed: elapsedOf(table),
    recentSteps: reward.values.length > recentSteps || loss.values.length > recentSteps ? recentSteps : null,
    stepTime,
    remaining: stepTime === null || step === null || total === null || step >= total ? null : (total - step) * stepTime,
    evaluation: HeldOut.latest(table)
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
  return HeldOut.finiteOf(table, table.sourcesOf(name)[0] ?? "", name)
}

const recent = ({ values }: Points): Float64Array => values.subarray(-recentSteps)

const skippedOf = (table: MetricTable): Headline["skipped"] => {
  const stepsOf = (name: string) => firstOf(table, [name]).values.reduce((sum, value) => sum + (value > 0 ? 1 : 0), 0)
  const steps = stepsOf("train/skipped")
  return steps === 0 ? null : { steps, notFinite: stepsOf("train/skipped_not_finite") }
}

const mean = (values: Float64Array): number | null =>
  values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
