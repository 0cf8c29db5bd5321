/** Shows the footer of a chart: values table, save menu and log scale. */
import type { ReactNode } from "react"
import { ChartSave } from "./ChartSave.tsx"
import type { FigureProps } from "./ChartFigure.tsx"
import { LogToggle } from "./LogToggle.tsx"
import { ValuesTable } from "./ValuesTable.tsx"

interface ChartFootProps extends Pick<FigureProps, "chart" | "entries" | "metrics" | "view"> {
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
