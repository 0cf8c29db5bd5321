/**
 * Summarises the steps of a `train` run: their rewards, and which of them changed no weights. A step that an engine
 * lost with its weights is repeated, and counts once.
 */
import type { StepMetrics } from "@atropos/trainer/run/StepMetrics"
import * as RewardWindow from "../base/RewardWindow.ts"
import * as ProgressFigures from "./ProgressFigures.ts"

interface Step {
  readonly reward: number | undefined
  readonly loss: number | undefined
  readonly skipped: string | undefined
}

export interface StepSummary {
  readonly add: (metrics: StepMetrics) => void
  readonly lines: () => ReadonlyArray<readonly [string, string]>
}

export const make = (): StepSummary => {
  const steps = new Map<number, Step>()
  return {
    add: (metrics) =>
      void steps.set(metrics.step, {
        reward: metrics.rewardMean,
        loss: ProgressFigures.supervisedLoss(metrics),
        skipped: ProgressFigures.reasonSkipped(metrics)
      }),
    lines: () => [
      ["steps", steps.size === 0 ? "none: the checkpoint already contains all steps" : String(steps.size)],
      ...skippedOf(steps),
      figureOf([...steps.values()])
    ]
  }
}

const figureOf = (steps: ReadonlyArray<Step>): readonly [string, string] => {
  const losses = steps.flatMap(({ loss }) => loss ?? [])
  return losses.length > 0
    ? ["loss", overTime(losses)]
    : ["mean reward", overTime(steps.flatMap(({ reward }) => reward ?? []))]
}

const overTime = (values: ReadonlyArray<number>): string => {
  if (values.length === 0) return "none measured"
  const window = RewardWindow.windowOf(values)
  return `${RewardWindow.startAndEnd(values)} (${window === 1 ? "one step each" : `means of ${window} steps`})`
}

const skippedOf = (steps: ReadonlyMap<number, Step>): ReadonlyArray<readonly [string, string]> => {
  const byReason = new Map<string, Array<number>>()
  for (const [step, { skipped }] of steps) {
    if (skipped !== undefined) byReason.set(skipped, [...(byReason.get(skipped) ?? []), step])
  }
  const count = [...byReason.values()].reduce((total, { length }) => total + length, 0)
  if (count === 0) return []
  const reasons = [...byReason].map(([reason, numbers]) => `${reason}: ${rangesOf(numbers)}`)
  const outcome = count === steps.size ? "; this run changed no weights" : ""
  return [["skipped", `${count} of ${steps.size} steps (${reasons.join("; ")})${outcome}`]]
}

/** The first ranges shown; more are counted. */
const maxRanges = 5

/** `step 3`, `steps 3, 7-9 and others`. */
const rangesOf = (numbers: ReadonlyArray<number>): string => {
  const ranges: Array<[number, number]> = []
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const last = ranges.at(-1)
    if (last !== undefined && last[1] === number - 1) last[1] = number
    else ranges.push([number, number])
  }
  const shown = ranges.slice(0, maxRanges).map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`))
  const more = ranges.length > maxRanges ? " and others" : ""
  return `step${numbers.length === 1 ? "" : "s"} ${shown.join(", ")}${more}`
}
