/**
 * Computes the curves of a chart: which exist with their labels and styles (`layout`), and their points (`draw`). Pure.
 * The first of runs, sources and traces that has several values determines colours; curves of the same colour differ in
 * dashes. `layout` is cheap and rarely changes; `draw` processes all points added since the last call.
 */
import * as Breaks from "./Breaks.ts"
import { type Chart, isMeasured, type Spread, type Trace } from "./Catalog.ts"
import * as Line from "./Line.ts"
import type { Gap } from "./Gaps.ts"
import type { MetricTable, Points, RunData } from "../metrics/MetricTable.ts"
import { remembered } from "../metrics/Remembered.ts"
import type { Unit } from "../ui/Quantity.ts"

export { gapsTold } from "./Gaps.ts"
export type { RunData } from "../metrics/MetricTable.ts"

export type Axis = "step" | "time"

export interface View {
  readonly axis: Axis
  /** 0: none; below 1. */
  readonly smoothing: number
}

/** A curve without its points. */
export interface Entry {
  readonly key: string
  /** Shortest label that is unique within its chart. */
  readonly label: string
  readonly run: RunData
  readonly source: string
  readonly trace: Trace
  readonly hasSpread: boolean
  /** Colour index, from 0. */
  readonly tone: number
  /** Dash index, from 0: solid. */
  readonly dash: number
}

export interface Curve {
  readonly entry: Entry
  /** Its values, smoothed. */
  readonly line: Line.Line
  /** Its recorded values, if smoothed. */
  readonly raw: Line.Line | null
  readonly band: Line.Band | null
  /**
   * The drawn line: stacked on the curves below in a stacked chart, otherwise its values with gaps at missing steps.
   */
  readonly drawn: Line.Line
  readonly gaps: ReadonlyArray<Gap>
}

const tableOf = (chart: Chart, run: RunData): MetricTable => (chart.isWatched === true ? run.watched : run.table)

export interface Picked {
  readonly run: string
  readonly source: string
  readonly metric: string
  readonly step: number
}

/** The recorded step nearest to `x`. */
const stepAt = ({ run, source, trace }: Entry, x: number, axis: Axis): number => {
  const { steps, times } = run.table.points(source, trace.metric)
  if (steps.length === 0) return Math.round(x)
  if (axis === "step") return steps[Line.nearest({ xs: steps, ys: steps }, x)!]!
  const at = (run.table.times()?.first ?? 0) + x * 1000
  return steps[
    times.reduce((best, time, index) => (Math.abs(time - at) < Math.abs(times[best]! - at) ? index : best), 0)
  ]!
}

export const picked = (entry: Entry, x: number, axis: Axis): Picked => ({
  run: entry.run.name,
  source: entry.source,
  metric: entry.trace.metric,
  step: stepAt(entry, x, axis)
})

export const xOf = ({ run, source, trace }: Entry, step: number, axis: Axis): number => {
  if (axis === "step") return step
  const { steps, times } = run.table.points(source, trace.metric)
  const at = Line.nearest({ xs: steps, ys: steps }, step)
  return at === null || at === undefined ? 0 : (times[at]! - (run.table.times()?.first ?? 0)) / 1000
}

/** The trainer's steps within a range of the axis; null if none. */
export const stepsWithin = (
  { table }: RunData,
  [from, to]: readonly [number, number],
  axis: Axis
): readonly [from: number, to: number] | null => {
  if (axis === "step") return [Math.ceil(from), Math.floor(to)]
  const [name] = ["reward/mean", "train/loss", "train/scores_mean"].filter((name) => table.sourcesOf(name).length > 0)
  const { steps, times } = table.points(table.sourcesOf(name ?? "")[0] ?? "", name ?? "")
  const start = table.times()?.first ?? 0
  const within = steps.filter((_, at) => times[at]! >= start + from * 1000 && times[at]! <= start + to * 1000)
  return within.length === 0 ? null : [within[0]!, within.at(-1)!]
}

/** The current curves, without those that have no data. */
export const layout = (chart: Chart, runs: ReadonlyArray<RunData>): ReadonlyArray<Entry> => {
  const found = runs.flatMap((run) => {
    const table = tableOf(chart, run)
    return chart.traces.flatMap((trace) =>
      table
        .sourcesOf(trace.metric)
        .filter((source) => chart.source === undefined || chart.source === source)
        .filter((source) => trace.per === undefined || table.sourcesOf(trace.per).includes(source))
        .map((source) => ({ run, source, trace }))
    )
  })
  const severalRuns = runs.length > 1
  const environments = found.filter(({ source }) => !unnamed.has(source))
  const severalSources = isSeveral(environments.map(({ source }) => source))
  const severalTraces = isSeveral(found.map(({ trace }) => trace))
  const tones = new Map<string, number>()
  const dashes = new Map<number, number>()
  return found.map(({ run, source, trace }) => {
    const named = severalSources && !unnamed.has(source)
    const names = [
      ...(severalRuns ? [run.name] : []),
      ...(named ? [source] : []),
      ...(severalTraces ? [trace.label] : [])
    ]
    const tone = severalRuns ? run.tone : numbered(tones, severalSources ? source : trace.label)
    const dash = dashes.get(tone % colors) ?? 0
    dashes.set(tone % colors, dash + 1)
    return {
      key: [run.name, source, trace.label].join("\n"),
      label: names.length === 0 ? trace.label : names.join(" · "),
      run,
      source,
      trace,
      hasSpread: spreadNames(trace).some((name) => tableOf(chart, run).sourcesOf(name).includes(source)),
      tone,
      dash
    }
  })
}

/** Number of curve colours (`--series-1` …), which are then reused with other dashes. */
export const colors = 8

const spreadNames = ({ spread }: Trace): ReadonlyArray<string> =>
  spread === undefined ? [] : spread.kind === "range" ? [spread.low] : [spread.metric]

const isSeveral = (values: Iterable<unknown>): boolean => new Set(values).size > 1

/** Sources that add nothing to the chart's title. */
export const unnamed: ReadonlySet<string> = new Set(["trainer", "queue"])

const numbered = (numbers: Map<string, number>, name: string): number => {
  const known = numbers.get(name)
  if (known !== undefined) return known
  numbers.set(name, numbers.size)
  return numbers.size - 1
}

/** True if two layouts look the same and use the same tables. */
export const isSameLayout = (left: ReadonlyArray<Entry>, right: ReadonlyArray<Entry>): boolean =>
  left.length === right.length &&
  left.every((entry, index) => {
    const other = right[index]!
    return (
      entry.run.table === other.run.table &&
      entry.trace === other.trace &&
      (["key", "label", "tone", "dash", "hasSpread"] as const).every((field) => entry[field] === other[field])
    )
  })

/** The curves of the entries with their current points. */
export const draw = (chart: Chart, entries: ReadonlyArray<Entry>, view: View): ReadonlyArray<Curve> => {
  const curves = entries.map((entry) =>
    curveOf(chart, entry, view.axis, isMeasured(chart, entry.trace) ? 0 : view.smoothing)
  )
  if (chart.kind !== "stacked") return curves
  const edges = Line.stack(curves.map(({ line }) => line))
  const isByStep = view.axis === "step"
  return curves.map((curve, index) => ({
    ...curve,
    raw: null,
    band: null,
    drawn: isByStep ? stepBreaks(edges[index]!) : timeBreaks(edges[index]!, noPoints)
  }))
}

const curveOf = (chart: Chart, entry: Entry, axis: Axis, smoothing: number): Curve => {
  const { run, source, trace } = entry
  const table = tableOf(chart, run)
  const start = run.table.times()?.first ?? 0
  const recordedOf = (points: Points) => (axis === "step" ? stepLine(points) : timeLine(points, start))
  const lineOf = (points: Points) => smoothed(recordedOf(points), smoothing)
  // Few measurements are far apart by nature.
  const drawnOf = (line: Line.Line, points: Points) =>
    isMeasured(chart, trace) ? line : axis === "step" ? stepBreaks(line) : timeBreaks(line, points)
  const recorded = table.points(source, trace.metric)
  const points = trace.per === undefined ? recorded : ratio(recorded, table.points(source, trace.per))
  const line = lineOf(points)
  const spread = trace.spread === undefined ? null : spreadOf(chart.unit, trace.spread, points, table, source)
  return {
    entry,
    line,
    raw: smoothing > 0 ? drawnOf(recordedOf(points), points) : null,
    band:
      spread === null
        ? null
        : {
            low: drawnOf(lineOf(spread.low), spread.low),
            high: drawnOf(lineOf(spread.high), spread.high)
          },
    drawn: drawnOf(line, points),
    gaps: axis === "step" ? stepGaps(points) : timeGaps(points, start)
  }
}

const gapsOf = (xOf: (points: Points, index: number) => number, points: Points): ReadonlyArray<Gap> =>
  Array.from(points.values.entries()).flatMap(([index, value]) =>
    Number.isFinite(value) ? [] : [{ x: xOf(points, index), step: points.steps[index]!, value }]
  )

const stepGaps = remembered((points: Points) => gapsOf(({ steps }, index) => steps[index]!, points))
const timeGaps = remembered((points: Points, start: number) =>
  gapsOf(({ times }, index) => (times[index]! - start) / 1000, points)
)

/** The bounds around the points; null if the source does not have them. */
export const spreadOf = (
  unit: Unit,
  spread: Spread,
  points: Points,
  table: MetricTable,
  source: string
): { readonly low: Points; readonly high: Points } | null => {
  if (spread.kind === "standardError") {
    const error = table.points(source, spread.metric)
    return error.steps.length === 0 ? null : interval(points, error, unit === "share")
  }
  const low = table.points(source, spread.low)
  const high = table.points(source, spread.high)
  return low.steps.length === 0 || high.steps.length === 0 ? null : { low, high }
}

const noPoints: Points = { steps: new Float64Array(), times: new Float64Array(), values: new Float64Array() }

const stepBreaks = remembered(Breaks.overSteps)
const timeBreaks = remembered(Breaks.overTime)
const stepLine = remembered(Line.byStep)
const timeLine = remembered(Line.byTime)
const ratio = remembered(Line.divide)
const interval = remembered(Line.confidence)
const smoothed = remembered((line: Line.Line, weight: number) =>
  weight === 0 ? line : { xs: line.xs, ys: Line.smooth(line.ys, weight) }
)

/** Min and max of drawn values in a range of x, bounds included; null if none. */
export const extent = (
  curves: ReadonlyArray<Curve>,
  range: readonly [number, number],
  isLog: boolean
): readonly [number, number] | null => {
  const lines = curves.flatMap(({ band, drawn, raw }) => [
    drawn,
    ...(raw === null ? [] : [raw]),
    ...(band === null ? [] : [band.low, band.high])
  ])
  let [min, greatest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { xs, ys } of lines) {
    for (let at = 0; at < xs.length; at++) {
      const y = ys[at]!
      if (xs[at]! < range[0] || xs[at]! > range[1] || !Number.isFinite(y) || (isLog && y <= 0)) continue
      if (y < min) min = y
      if (y > greatest) greatest = y
    }
  }
  return min <= greatest ? [min, greatest] : null
}

/** The range of x over all data of the runs; null without data. */
export const domain = (runs: ReadonlyArray<RunData>, axis: Axis): readonly [number, number] | null => {
  const ranges = runs.flatMap(({ table }) => {
    const times = table.times()
    const steps = table.steps()
    if (times === null || steps === null) return []
    return [axis === "step" ? ([steps.first, steps.last] as const) : ([0, (times.last - times.first) / 1000] as const)]
  })
  return ranges.length === 0
    ? null
    : [Math.min(...ranges.map(([from]) => from)), Math.max(...ranges.map(([, to]) => to))]
}
