/** Renders a chart as one figure or small multiples; nothing without curves. */
import * as Curves from "./Curves.ts"
import * as Facets from "./Facets.ts"
import { useRunShapes } from "../metrics/useRunMetrics.ts"
import { ChartFigure, type FigureProps } from "./ChartFigure.tsx"
import { FacetsFigure } from "./FacetsFigure.tsx"
import { useStable } from "./useStable.ts"

export type ChartCardProps = Omit<FigureProps, "entries" | "isSingle">

export const ChartCard = ({ run, ...props }: ChartCardProps) => {
  const chart = useStable(props.chart, (left, right) => JSON.stringify(left) === JSON.stringify(right))
  const [, runs] = useRunShapes(props.metrics)
  const entries = useStable(
    Curves.layout(chart, run === undefined ? runs : runs.filter(({ name }) => name === run)),
    Curves.isSameLayout
  )
  if (entries.length === 0) return null
  const facets = Facets.of(chart, entries)
  if (facets !== null) return <FacetsFigure {...props} chart={chart} entries={entries} facets={facets} />
  const isSingle = entries.length === 1 && runs.length === 1
  return <ChartFigure {...props} chart={chart} entries={entries} run={run} isSingle={isSingle} />
}
