/** Folds charts whose curves are flat: they are listed in one line, and drawn once it is opened. */
import { useMemo, useState, useSyncExternalStore } from "react"
import type { Chart, Section } from "../chart/Catalog.ts"
import { ChartCard, type ChartCardProps } from "../chart/ChartCard.tsx"
import type { Finding } from "../health/useHealth.ts"
import type { RunMetrics } from "../metrics/RunMetrics.ts"
import { plural } from "../ui/Format.ts"

/** True if each curve of the chart has kept its first value for at least ten steps. */
const isFlat = ({ kind, traces }: Chart, { table }: ReturnType<RunMetrics["states"]>[number]): boolean =>
  kind === "lines" &&
  traces.every(
    ({ metric, per }) =>
      per === undefined &&
      table.sourcesOf(metric).every((source) => {
        const { values } = table.points(source, metric)
        return values.length >= 10 && values.every((value) => value === values[0])
      })
  )

/** Ids of the charts that are flat in all runs and have no finding; the same set until one changes. */
export const useUnchanged = (
  metrics: RunMetrics,
  sections: ReadonlyArray<Section>,
  findings: ReadonlyArray<Finding>
): ReadonlySet<string> => {
  const found = new Set(findings.map(({ metric }) => metric))
  const charts = sections
    .flatMap(({ charts }) => charts)
    .filter(({ isWatched, traces }) => isWatched !== true && !traces.some(({ metric }) => found.has(metric)))
  const ids = useSyncExternalStore(metrics.subscribe, () =>
    charts
      .filter((chart) => metrics.states().every((run) => isFlat(chart, run)))
      .map(({ id }) => id)
      .join("\n")
  )
  return useMemo(() => new Set(ids.split("\n")), [ids])
}

interface UnchangedProps {
  readonly charts: ReadonlyArray<Chart>
  readonly figure: Omit<ChartCardProps, "chart">
}

export const Unchanged = ({ charts, figure }: UnchangedProps) => {
  const [isOpen, setIsOpen] = useState(false)
  if (charts.length === 0) return null
  return (
    <details className="unchanged" open={isOpen} onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>
        {plural(charts.length, "chart")} unchanged: {charts.map(({ title }) => title).join(", ")}
      </summary>
      {isOpen && (
        <div className="charts">
          {charts.map((chart) => (
            <ChartCard key={chart.id} chart={chart} {...figure} />
          ))}
        </div>
      )}
    </details>
  )
}
