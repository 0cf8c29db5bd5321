/**
 * Detects a change of the policy itself at a step: its entropy, its answer length, or its truncated share left their
 * course there.
 */
import { seriesOf, trainer } from "./Finding.ts"
import * as Series from "./Series.ts"

export interface PolicyChange {
  /** True if any of these metrics is recorded. */
  readonly isKnown: boolean
  readonly isAt: (step: number) => boolean
}

/** Number of values before a step that define its course. */
const windowSize = 10
/** Both are exceeded by a change: standard deviations of the course's jitter, and a share of its level. */
const maxDeviations = 5
const minRelativeChange = 0.25
/** Shares are compared absolutely. */
const minShareChange = 0.25

interface MetricSeries {
  readonly series: ReturnType<typeof Series.finite>
  readonly isShare: boolean
}

const changesAt = ({ isShare, series: { values } }: MetricSeries, at: number): boolean => {
  if (at < 1 || at >= values.length) return false
  const past = values.subarray(Math.max(0, at - windowSize), at)
  const change = Math.abs(values[at]! - values[at - 1]!)
  return (
    change > maxDeviations * Math.sqrt(Series.jitter(past)) &&
    change > (isShare ? minShareChange : minRelativeChange * Math.abs(values[at - 1]!))
  )
}

/** At the step or an adjacent one: an environment's rows and the trainer's cover nearly the same groups. */
const changesNear = (metric: MetricSeries, step: number): boolean => {
  const at = metric.series.steps.findIndex((one) => one >= step)
  return at !== -1 && [at - 1, at, at + 1].some((one) => changesAt(metric, one))
}

/**
 * From the metrics of the trainer and of an environment. Of several environments each has its own truncated share if
 * it reports one: the trainer's mixes them.
 */
export const of = (recorded: Series.Recorded, source: string): PolicyChange => {
  const reporting = recorded.sourcesOf("train/truncated_fraction")
  const isOwn = reporting.length > 1 && reporting.includes(source)
  const metrics: ReadonlyArray<MetricSeries> = [
    { series: seriesOf(recorded, trainer, "grpo/entropy"), isShare: false },
    ...(isOwn ? [] : [{ series: seriesOf(recorded, trainer, "batch/truncated_fraction"), isShare: true }]),
    ...(source === trainer
      ? []
      : [
          { series: seriesOf(recorded, source, "train/completion_lengths"), isShare: false },
          { series: seriesOf(recorded, source, "train/truncated_fraction"), isShare: true }
        ])
  ]
  return {
    isKnown: metrics.some(({ series }) => series.values.length > 0),
    isAt: (step) => metrics.some((metric) => changesNear(metric, step))
  }
}
