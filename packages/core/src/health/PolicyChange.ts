/**
 * Whether the policy itself changed at a step: its entropy, the length of its answers, or the share of them that is cut
 * off left their course there.
 */
import { seriesOf, trainer } from "./Finding.ts"
import * as Series from "./Series.ts"

export interface PolicyChange {
  /** Whether anything is recorded that would show it. */
  readonly isKnown: boolean
  readonly isAt: (step: number) => boolean
}

/** Values before a step that its course is measured by. */
const before = 10
/** Standard deviations of the course's own jitter, and the part of its level: beyond both it is a change. */
const unusual = 5
const part = 0.25
/** Shares have no level that they are seen against. */
const partOfAll = 0.25

interface Course {
  readonly series: ReturnType<typeof Series.finite>
  readonly isShare: boolean
}

const leavesAt = ({ isShare, series: { values } }: Course, at: number): boolean => {
  if (at < 1 || at >= values.length) return false
  const past = values.subarray(Math.max(0, at - before), at)
  const change = Math.abs(values[at]! - values[at - 1]!)
  return (
    change > unusual * Math.sqrt(Series.jitter(past)) &&
    change > (isShare ? partOfAll : part * Math.abs(values[at - 1]!))
  )
}

/** At the step or beside it: an environment's rows and the trainer's are of the same groups but for a few. */
const leaves = (course: Course, step: number): boolean => {
  const at = course.series.steps.findIndex((one) => one >= step)
  return at !== -1 && [at - 1, at, at + 1].some((one) => leavesAt(course, one))
}

/** By the trainer's figures, and those of an environment. */
export const of = (recorded: Series.Recorded, source: string): PolicyChange => {
  const courses: ReadonlyArray<Course> = [
    { series: seriesOf(recorded, trainer, "grpo/entropy"), isShare: false },
    { series: seriesOf(recorded, trainer, "batch/truncated_fraction"), isShare: true },
    ...(source === trainer
      ? []
      : [
          { series: seriesOf(recorded, source, "train/completion_lengths"), isShare: false },
          { series: seriesOf(recorded, source, "train/truncated_fraction"), isShare: true }
        ])
  ]
  return {
    isKnown: courses.some(({ series }) => series.values.length > 0),
    isAt: (step) => courses.some((course) => leaves(course, step))
  }
}
