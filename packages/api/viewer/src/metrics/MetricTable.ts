/**
 * Stores the metrics of one run by source, step and name as they arrive.
 *
 * Rows may arrive in any order and repeatedly. For each source, step and name the last value counts: a resumed run
 * records some steps again, and evaluation metrics arrive in separate rows. NaN and infinities are values too, as
 * numbers or names (`"NaN"`, `"Infinity"`, `"-Infinity"`; `null` is NaN). Stored as one array per name next to the
 * steps of its source (`NaN` if a step lacks it or its value is non-finite, which is stored separately): 10,000 steps
 * of 40 names take 3 MB.
 */
import type * as Wire from "../source/Wire.ts"

export type MetricsRow = Pick<Wire.MetricsRow, "source" | "step" | "at" | "values">

/** The points of one metric of one source, by ascending step. */
export interface Points {
  readonly steps: Float64Array
  /** Milliseconds since the epoch. */
  readonly times: Float64Array
  readonly values: Float64Array
}

export interface MetricTable {
  readonly add: (rows: Iterable<MetricsRow>) => void
  /** In order of first appearance. */
  readonly sources: () => ReadonlyArray<string>
  readonly names: () => ReadonlyArray<string>
  /** Sources with the metric, in order of first appearance. */
  readonly sourcesOf: (name: string) => ReadonlyArray<string>
  /** Returns the same object until points of the metric are added. */
  readonly points: (source: string, name: string) => Points
  /** Min and max step of all sources; null without rows. */
  readonly steps: () => { readonly first: number; readonly last: number } | null
  /** Min and max time of all rows; null without rows. */
  readonly times: () => { readonly first: number; readonly last: number } | null
  readonly version: () => number
}

interface Column {
  /** May be shorter than the steps: the rest is `NaN`. */
  values: Array<number>
  readonly odd: Map<number, number>
  points: Points | null
}

interface SourceTable {
  steps: Array<number>
  times: Array<number>
  readonly columns: Map<string, Column>
}

interface LateRow {
  at: number
  readonly values: Map<string, number>
}

export const make = (rows: Iterable<MetricsRow> = []): MetricTable => {
  const sources = new Map<string, SourceTable>()
  let first = Number.POSITIVE_INFINITY
  let last = Number.NEGATIVE_INFINITY
  let version = 0

  const tableOf = (source: string): SourceTable => {
    const existing = sources.get(source)
    if (existing !== undefined) return existing
    const made: SourceTable = { steps: [], times: [], columns: new Map() }
    sources.set(source, made)
    return made
  }

  const table: MetricTable = {
    add: (rows) => {
      const late = new Map<SourceTable, Map<number, LateRow>>()
      for (const row of rows) {
        if (!Number.isFinite(row.step) || !Number.isFinite(row.at)) continue
        first = Math.min(first, row.at)
        last = Math.max(last, row.at)
        const source = tableOf(row.source)
        const index = indexOf(source.steps, row.step)
        if (index !== undefined) write(source, index, row)
        else setAside(late, source, row)
      }
      for (const [source, rows] of late) insert(source, rows)
      version++
    },
    sources: () => [...sources.keys()],
    names: () => [...new Set([...sources.values()].flatMap(({ columns }) => [...columns.keys()]))].sort(),
    sourcesOf: (name) => [...sources].filter(([, { columns }]) => columns.has(name)).map(([source]) => source),
    points: (source, name) => {
      const recorded = sources.get(source)
      const column = recorded?.columns.get(name)
      if (recorded === undefined || column === undefined) return none
      return (column.points ??= pointsOf(recorded, column))
    },
    steps: () => {
      const own = [...sources.values()].map(({ steps }) => steps)
      return own.length === 0
        ? null
        : { first: Math.min(...own.map((steps) => steps[0]!)), last: Math.max(...own.map((steps) => steps.at(-1)!)) }
    },
    times: () => (first <= last ? { first, last } : null),
    version: () => version
  }
  table.add(rows)
  return table
}

const none: Points = { steps: new Float64Array(), times: new Float64Array(), values: new Float64Array() }

/** The index of `step`, or its insertion index if that is at the end; undefined if it belongs between others. */
const indexOf = (steps: ReadonlyArray<number>, step: number): number | undefined => {
  if (steps.length === 0 || step > steps.at(-1)!) return steps.length
  let low = 0
  let high = steps.length - 1
  while (low < high) {
    const middle = (low + high) >>> 1
    if (steps[middle]! < step) low = middle + 1
    else high = middle
  }
  return steps[low] === step ? low : undefined
}

const write = (source: SourceTable, index: number, { at, step, values }: MetricsRow): void => {
  source.steps[index] = step
  source.times[index] = at
  for (const [name, value] of Object.entries(values)) {
    const column = columnOf(source, name)
    while (column.values.length < index) column.values.push(Number.NaN)
    column.values[index] = placed(column, step, numberOf(value))
    column.points = null
  }
}

const numberOf = (value: number | string | null): number => (value === null ? Number.NaN : Number(value))

/** The array value for a step; non-finite values are stored separately. */
const placed = ({ odd }: Column, step: number, value: number): number => {
  if (Number.isFinite(value)) {
    odd.delete(step)
    return value
  }
  odd.set(step, value)
  return Number.NaN
}

const columnOf = (source: SourceTable, name: string): Column => {
  const existing = source.columns.get(name)
  if (existing !== undefined) return existing
  const made: Column = { values: [], odd: new Map(), points: null }
  source.columns.set(name, made)
  return made
}

/** Keeps a row that belongs between others, so that these are inserted together. */
const setAside = (
  late: Map<SourceTable, Map<number, LateRow>>,
  source: SourceTable,
  { at, step, values }: MetricsRow
): void => {
  const rows = late.get(source) ?? new Map<number, LateRow>()
  late.set(source, rows)
  const row = rows.get(step) ?? { at, values: new Map<string, number>() }
  rows.set(step, row)
  row.at = at
  for (const [name, value] of Object.entries(values)) row.values.set(name, numberOf(value))
}

const insert = (source: SourceTable, late: ReadonlyMap<number, LateRow>): void => {
  const { steps, times } = source
  for (const row of late.values()) for (const name of row.values.keys()) columnOf(source, name)
  const places = [
    ...steps.map((step, index) => ({ step, from: index as number | LateRow })),
    ...[...late].map(([step, row]) => ({ step, from: row as number | LateRow }))
  ].sort((left, right) => left.step - right.step)
  source.steps = places.map(({ step }) => step)
  source.times = places.map(({ from }) => (typeof from === "number" ? times[from]! : from.at))
  for (const [name, column] of source.columns) {
    const { values } = column
    column.values = places.map(({ from, step }) => {
      if (typeof from === "number") return values[from] ?? Number.NaN
      const value = from.values.get(name)
      return value === undefined ? Number.NaN : placed(column, step, value)
    })
    column.points = null
  }
}

const pointsOf = ({ steps, times }: SourceTable, { odd, values }: Column): Points => {
  let count = odd.size
  for (const value of values) if (!Number.isNaN(value)) count++
  const points = { steps: new Float64Array(count), times: new Float64Array(count), values: new Float64Array(count) }
  let at = 0
  for (let index = 0; index < values.length; index++) {
    const step = steps[index]!
    const value = Number.isNaN(values[index]!) ? odd.get(step) : values[index]
    if (value === undefined) continue
    points.steps[at] = step
    points.times[at] = times[index]!
    points.values[at] = value
    at++
  }
  return points
}

/** True if a table has more than one step: a single state of the queue is not a curve. */
export const isCurve = (table: MetricTable): boolean => {
  const steps = table.steps()
  return steps !== null && steps.last > steps.first
}

/** A run with its tables. */
export interface RunData {
  readonly name: string
  /** Index among the compared runs, which determines its colour everywhere. */
  readonly tone: number
  readonly table: MetricTable
  /** The queue as observed while the page is open, from the source `queue`. */
  readonly watched: MetricTable
}
