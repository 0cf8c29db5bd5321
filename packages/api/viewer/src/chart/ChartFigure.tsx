/**
 * Renders a chart with title, legend and values. The legend shows each curve's value at the crosshair, otherwise its
 * last; the values are also available as a table, for accessibility. React only renders the frame: new points update
 * canvas and legend directly, in portions per animation frame, and only while the chart is visible.
 */
import { useId, useState } from "react"
import type { Finding } from "../health/useHealth.ts"
import { drawChart } from "./ChartPicture.ts"
import type { Chart } from "./Catalog.ts"
import type * as Curves from "./Curves.ts"
import type { PageView } from "./PageView.ts"
import type { RunMetrics } from "../metrics/RunMetrics.ts"
import { ChartFoot } from "./ChartFoot.tsx"
import { Legend } from "./Legend.tsx"
import { Marked, useMarked } from "./Marked.tsx"
import type { PlotStyle } from "./PlotStyle.ts"
import { usePlot } from "./usePlot.ts"

export interface FigureProps {
  /** Stable object while the chart is unchanged. */
  readonly chart: Chart
  /** Its curves; the same array as long as they are the same. */
  readonly entries: ReadonlyArray<Curves.Entry>
  /** Restricts a chart that cannot show several runs to this one. */
  readonly run?: string | undefined
  /** True for a single curve, which needs no name. */
  readonly isSingle?: boolean
  readonly isMain?: boolean
  readonly metrics: RunMetrics
  readonly view: PageView
  readonly style: PlotStyle
  readonly findings: ReadonlyArray<Finding>
  readonly onZoom: (range: readonly [number, number] | null) => void
  readonly onPick: (picked: Curves.Picked) => void
}

const height = 192
const mainHeight = 268
const largeHeight = 380

export const ChartFigure = ({
  chart,
  entries,
  findings,
  isMain = false,
  isSingle = false,
  metrics,
  onPick,
  onZoom,
  run,
  style,
  view
}: FigureProps) => {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set())
  const [ownLogY, setOwnLogY] = useState<boolean | null>(null)
  const [isLarge, setIsLarge] = useState(false)
  const id = useId()
  const isLogY = chart.kind !== "stacked" && (ownLogY ?? view.isLogY)
  const marked = useMarked(findings, entries)
  const { gaps, host, legend, onKeyDown, position } = usePlot({
    chart,
    entries,
    findings: marked,
    hidden,
    isLogY,
    metrics,
    onPick,
    onZoom,
    style,
    view
  })

  const toggle = (key: string) => {
    const next = new Set(hidden)
    if (!next.delete(key)) next.add(key)
    setHidden(next)
  }
  const valueRef = (key: string) => (element: HTMLElement | null) => {
    if (element === null) legend.delete(key)
    else legend.set(key, element)
  }
  const spread = entries.find(({ hasSpread }) => hasSpread)?.trace.spread
  const help = [chart.help, ...(spread === undefined ? [] : [`(${spread.label})`])].join(" ")
  return (
    <figure className={isLarge ? "chart large" : "chart"} aria-labelledby={id}>
      <figcaption>
        <div className="chart-head">
          <h3 id={id}>{run === undefined ? chart.title : `${chart.title} · ${run}`}</h3>
          <span className="chart-position" ref={position} />
          {isSingle && <span className="chart-value number" ref={valueRef(entries[0]!.key)} />}
        </div>
        {help !== "" && <p className="chart-help">{help}</p>}
        <p className="chart-gaps" ref={gaps} hidden />
        {marked.length > 0 && <Marked findings={marked} run={entries[0]!.run.name} />}
        {!isSingle && (
          <Legend
            entries={entries}
            hidden={hidden}
            idOf={({ key }) => key}
            style={style}
            onToggle={toggle}
            valueRef={valueRef}
          />
        )}
      </figcaption>
      <div
        className="chart-plot"
        role="slider"
        tabIndex={0}
        aria-label={`${chart.title}, line chart`}
        aria-valuenow={0}
        title="Arrows move along the curve; Enter, or a click, opens the groups of the step"
        ref={host}
        style={{ height: isLarge ? largeHeight : isMain ? mainHeight : height }}
        onKeyDown={onKeyDown}
      />
      <ChartFoot
        chart={chart}
        entries={entries}
        metrics={metrics}
        view={view}
        isLogY={isLogY}
        onLogY={setOwnLogY}
        picture={() =>
          drawChart(
            host.current,
            chart.title,
            entries.filter(({ key }) => !hidden.has(key)),
            style
          )
        }
      >
        <button
          type="button"
          className="quiet small"
          aria-pressed={isLarge}
          aria-label={`large, ${chart.title}`}
          title="Large"
          onClick={() => setIsLarge(!isLarge)}
        >
          large
        </button>
      </ChartFoot>
    </figure>
  )
}
