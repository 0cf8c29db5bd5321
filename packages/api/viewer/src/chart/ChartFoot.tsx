/** Shows the footer of a chart: values table, save menu and log scale. */
import type { ReactNode } from "react"
import type { RunMetrics } from "../metrics/RunMetrics.ts"
import type { PageView } from "./PageView.ts"
import type { Chart } from "./Catalog.ts"
import type * as Curves from "./Curves.ts"
import { ChartSave } from "./ChartSave.tsx"
import { LogToggle } from "./LogToggle.tsx"
import { ValuesTable } from "./ValuesTable.tsx"

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
