/** Saves a chart: its values as recorded, and the curves that are shown as a picture. */
import type { Chart } from "../run/Catalog.ts"
import type { PlotStyle } from "../run/chart/PlotStyle.ts"
import type * as Curves from "../run/Curves.ts"
import { drawChart } from "./ChartPicture.ts"
import * as ChartTable from "./ChartTable.ts"
import { SaveMenu } from "./SaveMenu.tsx"

interface ChartSaveProps {
  readonly chart: Chart
  readonly entries: ReadonlyArray<Curves.Entry>
  /** Keys of curves that are not shown. */
  readonly hidden: ReadonlySet<string>
  readonly axis: Curves.Axis
  readonly style: PlotStyle
  /** Where the canvas is. */
  readonly plot: () => Element | null
}

export const ChartSave = ({ axis, chart, entries, hidden, plot, style }: ChartSaveProps) => {
  const draw = () =>
    drawChart(
      plot(),
      chart.title,
      entries.filter(({ key }) => !hidden.has(key)),
      style
    )
  return <SaveMenu name={chart.title} table={() => ChartTable.of(chart, entries, axis)} picture={draw} />
}
