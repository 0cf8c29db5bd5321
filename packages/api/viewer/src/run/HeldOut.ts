/**
 * Reads the held-out score of a run: the latest evaluation, the first, the best, and if the difference between the
 * first and the latest is significant. Pure.
 */
import * as Catalog from "../chart/Catalog.ts"
import * as Curves from "../chart/Curves.ts"
import type { MetricTable, Points } from "../metrics/MetricTable.ts"

/** Bounds of a 95% confidence interval. */
type Interval = readonly [low: number, high: number]

interface Estimate {
  readonly value: number
  /** Null if not recorded. */
  readonly interval: Interval | null
}

export interface HeldOut extends Estimate {
  /** The metric. */
  readonly name: string
  readonly step: number
  /** The first value of the same source; null if there is only one. */
  readonly first: number | null
  readonly best: { readonly value: number; readonly step: number }
  /** Null if there is only one value. */
  readonly change: Change | null
}

/** `unknown` without intervals. */
interface Change {
  readonly value: number
  readonly kind: "higher" | "lower" | "not significant" | "unknown"
}

/** Scores that represent evaluations, in order of preference. */
const scores = ["eval/percent_correct", "eval/mean_score"]

/** Of all sources the one with the highest step, and of those the latest. */
export const latest = (table: MetricTable): HeldOut | null => {
  for (const name of [...scores, ...table.names().filter((name) => name.startsWith("eval/pass@"))]) {
    const [newest] = table
      .sourcesOf(name)
      .map((source) => ({ source, ...finiteOf(table, source, name) }))
      .filter(({ steps }) => steps.length > 0)
      .toSorted((one, other) => other.steps.at(-1)! - one.steps.at(-1)! || other.times.at(-1)! - one.times.at(-1)!)
    if (newest === undefined) continue
    const { source, steps, values } = newest
    const [first, last] = [0, values.length - 1].map((at) => ({
      value: values[at]!,
      interval: intervalAt(table, source, name, newest, at)
    }))
    const best = values.indexOf(Math.max(...values))
    return {
      name,
      ...last!,
      step: steps.at(-1)!,
      first: values.length > 1 ? first!.value : null,
      best: { value: values[best]!, step: steps[best]! },
      change: values.length > 1 ? changeOf(first!, last!) : null
    }
  }
  return null
}

/**
 * The change from one estimate to another. It is significant if its 95% interval, made of the two by the rule of
 * Newcombe 1998 and Zou and Donner 2008, excludes 0. The rule takes the estimates as independent: for the same items,
 * whose results correlate, it is on the safe side.
 */
export const changeOf = (from: Estimate, to: Estimate): Change => {
  const value = to.value - from.value
  if (from.interval === null || to.interval === null) return { value, kind: "unknown" }
  const low = value - Math.hypot(to.value - to.interval[0], from.interval[1] - from.value)
  const high = value + Math.hypot(to.interval[1] - to.value, from.value - from.interval[0])
  return { value, kind: low > 0 ? "higher" : high < 0 ? "lower" : "not significant" }
}

/** Without non-finite values. */
export const finiteOf = (table: MetricTable, source: string, name: string): Points => {
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

/** The interval that the chart of the metric draws at a point. */
const intervalAt = (table: MetricTable, source: string, name: string, points: Points, at: number): Interval | null => {
  const spread = Catalog.spreadOf(name, table.names())
  const bounds = spread && Curves.spreadOf(Catalog.unitOf(name), spread, points, table, source)
  if (!bounds) return null
  const [low, high] = [bounds.low, bounds.high].map(({ steps, values }) => values[steps.lastIndexOf(points.steps[at]!)])
  return low === undefined || high === undefined ? null : [low, high]
}
