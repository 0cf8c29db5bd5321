/** Saves a chart: its recorded values, and the shown curves as a picture. */
import type { Chart } from "./Catalog.ts"
import type * as Curves from "./Curves.ts"
import * as ChartTable from "./ChartTable.ts"
import { SaveMenu } from "../save/SaveMenu.tsx"

interface ChartSaveProps {
  readonly chart: Chart
  readonly entries: ReadonlyArray<Curves.Entry>
  readonly axis: Curves.Axis
  readonly picture: () => Promise<HTMLCanvasElement | null>
}

export const ChartSave = ({ axis, chart, entries, picture }: ChartSaveProps) => (
  <SaveMenu name={chart.title} table={() => ChartTable.of(chart, entries, axis)} picture={picture} />
)
