/** Shows a chart's values as a table on demand: first, last, min and max of each curve as recorded, not smoothed. */
import { useMemo, useState } from "react"
import { type Column, DataTable } from "../ui/DataTable.tsx"
import type { Chart } from "./Catalog.ts"
import * as Curves from "./Curves.ts"
import * as Line from "./Line.ts"
import { duration, quantity, type Unit } from "../ui/Quantity.ts"
import type { RunMetrics } from "../metrics/RunMetrics.ts"
import { useRunStates } from "../metrics/useRunMetrics.ts"

interface ValuesTableProps {
  readonly chart: Chart
  readonly entries: ReadonlyArray<Curves.Entry>
  readonly axis: Curves.Axis
  readonly metrics: RunMetrics
}

export const ValuesTable = (props: ValuesTableProps) => {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <details className="chart-values" onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>
        Values<span className="sr-only"> of {props.chart.title}</span>
      </summary>
      {isOpen && <Values {...props} />}
    </details>
  )
}

interface Row {
  readonly key: string
  readonly label: string
  readonly summary: Line.Summary | null
}

const Values = ({ axis, chart, entries, metrics }: ValuesTableProps) => {
  useRunStates(metrics)
  const rows = Curves.draw({ ...chart, kind: "lines" }, entries, { axis, smoothing: 0 }).map(({ entry, line }) => ({
    key: entry.key,
    label: entry.label,
    summary: Line.summary(line)
  }))
  const columns = useMemo(() => columnsOf(chart.unit, axis), [chart.unit, axis])
  return <DataTable caption={`Values of ${chart.title}`} columns={columns} rows={rows} rowKey={({ key }) => key} />
}

const columnsOf = (unit: Unit, axis: Curves.Axis): ReadonlyArray<Column<Row>> => {
  const at = (x: number) => (axis === "step" ? `step ${x}` : `after ${duration(x)}`)
  const figure = (id: "first" | "last" | "min" | "max", title: string): Column<Row> => ({
    id,
    title,
    isNumber: true,
    value: ({ summary }) => summary?.[id].y ?? null,
    cell: ({ summary }) =>
      summary === null ? (
        "–"
      ) : (
        <span>
          {quantity(summary[id].y, unit)} <span className="muted">{at(summary[id].x)}</span>
        </span>
      )
  })
  return [
    { id: "curve", title: "Curve", value: ({ label }) => label },
    figure("first", "First"),
    figure("last", "Last"),
    figure("min", "Min"),
    figure("max", "Max"),
    { id: "count", title: "Points", isNumber: true, value: ({ summary }) => summary?.count ?? 0 },
    { id: "gaps", title: "NaN or infinite", isNumber: true, value: ({ summary }) => summary?.gaps ?? 0 }
  ]
}
