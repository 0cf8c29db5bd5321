/** Shows the footer of a chart: values table, save menu and log scale. */
import type { ReactNode } from "react"
import type { RunMetrics } from "../metrics/RunMetrics.ts"
import type { PageView } from "./PageView.ts"
import type { Chart } from "./Catalog.ts"
import * as Curves from "./Curves.ts"
import { ValuesTable } from "./ValuesTable.tsx"
import { SaveMenu } from "../save/SaveMenu.tsx"
import type * as Save from "../save/Save.ts"

/** Toggles the log scale of one chart's vertical axis. */
interface LogToggleProps {
  readonly title: string
  readonly isLogY: boolean
  readonly onChange: (isLogY: boolean) => void
}

const LogToggle = ({ isLogY, onChange, title }: LogToggleProps) => (
  <button
    type="button"
    className="quiet small"
    aria-pressed={isLogY}
    aria-label={`log axis, ${title}`}
    title="Logarithmic axis"
    onClick={() => onChange(!isLogY)}
  >
    log
  </button>
)

/**
 * Saves a chart: its recorded values, and the shown curves as a picture.
 * Converts the recorded values of a chart to a table: a row per step or second, a column per curve. Pure.
 */
const chartTableOf = (chart: Chart, entries: ReadonlyArray<Curves.Entry>, axis: Curves.Axis): Save.Table => {
  const curves = Curves.draw({ ...chart, kind: "lines" }, entries, { axis, smoothing: 0 })
  const values = curves.map(({ line }) => new Map(Array.from(line.xs, (x, at) => [x, line.ys[at]!])))
  const xs = [...new Set(values.flatMap((one) => [...one.keys()]))].sort((left, right) => left - right)
  return {
    columns: [axis === "step" ? "step" : "seconds", ...curves.map(({ entry }) => entry.label)],
    rows: xs.map((x) => [x, ...values.map((one) => one.get(x) ?? null)])
  }
}

interface ChartSaveProps {
  readonly chart: Chart
  readonly entries: ReadonlyArray<Curves.Entry>
  readonly axis: Curves.Axis
  readonly picture: () => Promise<HTMLCanvasElement | null>
}

const ChartSave = ({ axis, chart, entries, picture }: ChartSaveProps) => (
  <SaveMenu name={chart.title} table={() => chartTableOf(chart, entries, axis)} picture={picture} />
)

interface ChartFootProps {
  readonly chart: Chart
  readonly entries: ReadonlyArray<Curves.Entry>
  readonly metrics: RunMetrics
  readonly view: PageView
  readonly picture: Parameters<typeof ChartSave>[0]["picture"]
  readonly isLogY: boolean
  readonly onLogY: (isLogY: boolean) => void
  readonly children?: ReactNode
}

export const ChartFoot = ({ chart, children, entries, isLogY, metrics, onLogY, picture, view }: ChartFootProps) => (
  <div className="chart-foot">
    <ValuesTable chart={chart} entries={entries} axis={view.axis} metrics={metrics} />
    <div className="chart-tools">
      <ChartSave chart={chart} entries={entries} axis={view.axis} picture={picture} />
      {chart.kind !== "stacked" && <LogToggle title={chart.title} isLogY={isLogY} onChange={onLogY} />}
      {children}
    </div>
  </div>
)
