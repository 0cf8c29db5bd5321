/** Shows every metric under its own name, grouped by prefix; only open groups have charts. */
import { useMemo, useState } from "react"
import * as Catalog from "../chart/Catalog.ts"
import * as Format from "../ui/Format.ts"
import { ChartCard, type ChartCardProps } from "../chart/ChartCard.tsx"

interface AllMetricsProps extends Omit<ChartCardProps, "chart"> {
  readonly names: ReadonlyArray<string>
}

export const AllMetrics = ({ names, ...props }: AllMetricsProps) => {
  const [search, setSearch] = useState("")
  const groups = useMemo(() => Catalog.byPrefix(names, search.trim()), [names, search])
  const matchCount = groups.reduce((sum, { charts }) => sum + charts.length, 0)
  return (
    <section className="chart-section">
      <div className="section-head">
        <h2>All metrics</h2>
        <input
          type="search"
          aria-label="Search metrics"
          placeholder="Search metrics"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
        <span className="muted" role="status">
          {Format.plural(matchCount, "metric")}
        </span>
      </div>
      {groups.map(({ charts, prefix }) => (
        <Group key={prefix} title={prefix} isSearched={search.trim() !== ""} charts={charts} {...props} />
      ))}
    </section>
  )
}

interface GroupProps extends Omit<ChartCardProps, "chart"> {
  readonly title: string
  /** Search results are shown immediately unless there are too many. */
  readonly isSearched: boolean
  readonly charts: ReadonlyArray<Catalog.Chart>
}

const shownAtOnce = 12

const Group = ({ charts, isSearched, title, ...props }: GroupProps) => {
  const [selected, setSelected] = useState<boolean | null>(null)
  const isOpen = selected ?? (isSearched && charts.length <= shownAtOnce)
  return (
    <details className="metric-group" open={isOpen}>
      <summary
        onClick={(event) => {
          event.preventDefault()
          setSelected(!isOpen)
        }}
      >
        <h3>{title === "" ? "without prefix" : title}</h3>
        <span className="muted number">{charts.length}</span>
      </summary>
      {isOpen && (
        <div className="charts">
          {charts.map((chart) => (
            <ChartCard key={chart.id} chart={chart} {...props} />
          ))}
        </div>
      )}
    </details>
  )
}
