/** Shows how the result of each suite changed over the steps of a run. */
import type * as Wire from "../source/Wire.ts"
import { number, plural } from "../ui/Format.ts"
import { TileCurve } from "../ui/TileCurve.tsx"
import { percent } from "./Figures.tsx"
import { figureOf } from "./Title.ts"

type Row = Pick<Wire.EvaluationRow, "at" | "figures" | "name" | "step">

export interface Trend {
  readonly name: string
  /** True if the values are shares correct, otherwise mean scores. */
  readonly isShare: boolean
  /** By step. */
  readonly values: ReadonlyArray<number>
}

const metricOf = (rows: ReadonlyArray<Row>): "percent_correct" | "mean_score" =>
  rows.every((row) => figureOf(row, "percent_correct") !== null) ? "percent_correct" : "mean_score"

/** The suites evaluated at more than one step; the last evaluation of a step counts. */
export const of = (rows: ReadonlyArray<Row>): ReadonlyArray<Trend> => {
  const byName = new Map<string, Map<number, Row>>()
  for (const row of rows.toSorted((a, b) => a.at - b.at)) {
    if (row.step === null) continue
    const steps = byName.get(row.name) ?? new Map<number, Row>()
    byName.set(row.name, steps.set(row.step, row))
  }
  return [...byName].flatMap(([name, steps]) => {
    const ordered = [...steps].toSorted(([a], [b]) => a - b).map(([, row]) => row)
    const metric = metricOf(ordered)
    const values = ordered.flatMap((row) => figureOf(row, metric) ?? [])
    return values.length < 2 ? [] : [{ name, isShare: metric === "percent_correct", values }]
  })
}

export const Trends = ({ rows }: { readonly rows: ReadonlyArray<Row> }) => {
  const trends = of(rows)
  if (trends.length === 0) return null
  return (
    <ul className="suite-trends" aria-label="Results by step">
      {trends.map(({ isShare, name, values }) => {
        const format = isShare ? percent : (value: number) => number(value, 3)
        return (
          <li key={name}>
            <span className="number">
              {name}: {format(values[0]!)} → {format(values.at(-1)!)} over {plural(values.length, "evaluation")}
            </span>
            <TileCurve values={Float64Array.from(values)} />
          </li>
        )
      })}
    </ul>
  )
}
