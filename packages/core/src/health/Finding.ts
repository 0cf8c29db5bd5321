/** The findings of health rules, and the helpers and windows that all rules share. */
import * as Series from "./Series.ts"

/** `broken`: the run does not work; `suspect`: a person should check. */
export type Severity = "broken" | "suspect"

export interface Finding {
  /** Name of its rule (`Health.rules`). */
  readonly rule: string
  readonly severity: Severity
  /** The source of the metric: `trainer`, or an environment. */
  readonly source: string
  readonly metric: string
  /** The first and the last affected step. */
  readonly from: number
  readonly to: number
  readonly steps?: ReadonlyArray<number>
  readonly component?: string
  /** One sentence: the event and its time. */
  readonly message: string
}

/** What a rule finds. */
export type Findings = ReadonlyArray<Omit<Finding, "rule">>

/** A kind of problem: its description, and its detection. */
export interface Rule {
  readonly title: string
  /** When it triggers, with its thresholds. */
  readonly words: string
  readonly judge: (recorded: Series.Recorded) => Findings
}

/** Number of values that means are taken over. */
export const window = 10

/** Source name of the trainer. */
export const trainer = "trainer"

export const seriesOf = (recorded: Series.Recorded, source: string, metric: string) =>
  Series.finite(recorded.points(source, metric))

/** Three significant digits. */
export const written = (value: number): string => String(Number(value.toPrecision(3)))

export const percent = (value: number): string => `${written(value * 100)}%`

/** `3, 4 and 9`; only the first ones of many. */
export const listed = (steps: ReadonlyArray<number>): string =>
  steps.length === 1
    ? String(steps[0])
    : steps.length <= 4
      ? `${steps.slice(0, -1).join(", ")} and ${steps.at(-1)}`
      : `${steps.slice(0, 3).join(", ")} and ${steps.length - 3} more up to ${steps.at(-1)}`

/**
 * Since when the mean of the last values has met a condition without a break: the step at which the values went there,
 * which is before their mean did. Undefined where it does not now, or there are too few values. What is before the step
 * of `excusedUntil` does not count.
 */
export const standing = (
  { steps, values }: ReturnType<typeof Series.finite>,
  isMet: (mean: number) => boolean,
  excusedUntil: () => number = () => Number.NEGATIVE_INFINITY
): { readonly from: number; readonly to: number; readonly now: number } | undefined => {
  const means = Series.meansOver(values, window)
  const now = means.at(-1)
  if (now === undefined || !isMet(now)) return undefined
  const until = excusedUntil()
  const excused = steps.findLastIndex((step) => step < until) + 1
  if (excused > 0) return standing({ steps: steps.subarray(excused), values: values.subarray(excused) }, isMet)
  let first = means.length - 1
  while (first > 0 && isMet(means[first - 1]!)) first--
  const start = Math.max(0, first - window)
  const broken = first === 0 ? 0 : Series.breakOf(values.subarray(start, first + 2 * window))
  return { from: steps[start + (broken ?? window - 1)]!, to: steps.at(-1)!, now }
}

/** The mean of the first values; undefined if they overlap the last ones. */
export const atFirst = ({ values }: ReturnType<typeof Series.finite>): number | undefined =>
  values.length < 2 * window ? undefined : Series.mean(values.subarray(0, window))
