/**
 * A chart with its title, legend and values. The legend shows each curve's value under the crosshair, else its last;
 * the values are there as a table too, for those who cannot see or point.
 *
 * React renders its frame alone. New points go to the canvas and into the legend directly, a piece of each frame, and
 * only while the chart is on the screen.
 */
import { useId, useState } from "react"
import { Link } from "wouter"
import * as Guilty from "../../health/Guilty.ts"
import type { Finding } from "../../health/useHealth.ts"
import * as Health from "@atropos/core/health/Health"
import type { Chart } from "../Catalog.ts"
import * as Curves from "../Curves.ts"
import { colorOf, dashOf, type PlotStyle } from "./PlotStyle.ts"
import type { RunMetrics } from "../RunMetrics.ts"
import type { PageView } from "../PageView.ts"
import { useRunShapes } from "../useRunMetrics.ts"
import { ChartSave } from "../../save/ChartSave.tsx"
import { usePlot } from "./usePlot.ts"
import { useStable } from "./useStable.ts"
import { ValuesTable } from "./ValuesTable.tsx"

export interface ChartFigureProps {
  readonly chart: Chart
  /** Of one run, where the chart cannot show several. */
  readonly run?: string
  /** One of those that are looked at first. */
  readonly isMain?: boolean
  readonly metrics: RunMetrics
  readonly view: PageView
  readonly style: PlotStyle
  /** What is wrong with the run that is looked at. */
  readonly findings: ReadonlyArray<Finding>
  readonly onZoom: (range: readonly [number, number] | null) => void
  /** Somebody wants to see what is behind a point. */
  readonly onPick: (picked: Curves.Picked) => void
}

const height = 192
const mainHeight = 268
const largeHeight = 380

export const ChartFigure = ({
  findings,
  isMain = false,
  metrics,
  onPick,
  onZoom,
  run,
  style,
  view,
  ...props
}: ChartFigureProps) => {
  const chart = useStable(props.chart, (left, right) => JSON.stringify(left) === JSON.stringify(right))
  const [, runs] = useRunShapes(metrics)
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set())
  const [ownLogY, setOwnLogY] = useState<boolean | null>(null)
  const [isLarge, setIsLarge] = useState(false)
  const id = useId()
  const isLogY = chart.kind !== "stacked" && (ownLogY ?? view.isLogY)
  const entries = useStable(
    Curves.layout(chart, run === undefined ? runs : runs.filter(({ name }) => name === run)),
    Curves.isSameLayout
  )
  const marked = useStable(
    findings.filter(({ metric, source }) => entries.some((entry) => isOf(entry, metric, source))),
    (left, right) => JSON.stringify(left) === JSON.stringify(right)
  )
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
  if (entries.length === 0) return null
  const isSingle = entries.length === 1 && runs.length === 1
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
        {!isSingle && <Legend entries={entries} hidden={hidden} style={style} onToggle={toggle} valueRef={valueRef} />}
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
      <div className="chart-foot">
        <ValuesTable chart={chart} entries={entries} axis={view.axis} metrics={metrics} />
        <div className="chart-tools">
          <ChartSave
            chart={chart}
            entries={entries}
            hidden={hidden}
            axis={view.axis}
            style={style}
            plot={() => host.current}
          />
          {chart.kind !== "stacked" && (
            <button
              type="button"
              className="quiet small"
              aria-pressed={isLogY}
              aria-label={`log axis, ${chart.title}`}
              title="Logarithmic axis"
              onClick={() => setOwnLogY(!isLogY)}
            >
              log
            </button>
          )}
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
        </div>
      </div>
    </figure>
  )
}

/** The curves, each with its value; a click hides one. */
const Legend = ({
  entries,
  hidden,
  onToggle,
  style,
  valueRef
}: {
  readonly entries: ReadonlyArray<Curves.Entry>
  readonly hidden: ReadonlySet<string>
  readonly style: PlotStyle
  readonly onToggle: (key: string) => void
  readonly valueRef: (key: string) => (element: HTMLElement | null) => void
}) => (
  <ul className="chart-legend" aria-label="Curves">
    {entries.map((entry) => (
      <li key={entry.key}>
        <button
          type="button"
          className="quiet small"
          aria-pressed={!hidden.has(entry.key)}
          onClick={() => onToggle(entry.key)}
        >
          <Swatch color={colorOf(entry, style.series)} dash={dashOf(entry)} />
          <span className="chart-name">{entry.label}</span>
          <span className="number" ref={valueRef(entry.key)} />
        </button>
      </li>
    ))}
  </ul>
)

export const Swatch = ({ color, dash = [] }: { readonly color: string; readonly dash?: ReadonlyArray<number> }) => (
  <svg className="line-swatch" viewBox="0 0 20 8" width="20" height="8" aria-hidden="true">
    <path d="M1 4H19" stroke={color} strokeWidth="3" strokeDasharray={dash.join(" ")} />
  </svg>
)

const isOf = ({ source, trace }: Curves.Entry, metric: string, of: string): boolean =>
  source === of && trace.metric === metric

/** What is marked on the curve, in words. */
const Marked = ({ findings, run }: { readonly findings: ReadonlyArray<Finding>; readonly run: string }) => (
  <ul className="chart-findings">
    {findings.map((finding) => (
      <li key={`${finding.rule} ${finding.source}`} className={`is-${finding.severity}`}>
        <Link href={Guilty.groupsOf(run, finding)} title={Health.rules[finding.rule].words}>
          {Health.rules[finding.rule].title}
          {finding.steps === undefined ? ` from step ${finding.from}` : `: ${stepsOf(finding.steps)}`}
        </Link>
      </li>
    ))}
  </ul>
)

const stepsOf = (steps: ReadonlyArray<number>): string =>
  steps.length > 4 ? `${steps.length} steps` : `step ${steps.join(", ")}`
