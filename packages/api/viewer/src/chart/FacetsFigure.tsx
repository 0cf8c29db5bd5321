/**
 * Renders a chart as small multiples with a common legend and common axes. A hidden curve is hidden in all facets; each
 * facet shows its own values.
 */
import { useCallback, useId, useMemo, useRef, useState } from "react"
import type { Finding } from "../health/useHealth.ts"
import { drawFacets } from "./ChartPicture.ts"
import * as Curves from "./Curves.ts"
import type { Facet } from "./Facets.ts"
import type { PageView } from "./PageView.ts"
import type { RunMetrics } from "../metrics/RunMetrics.ts"
import type { FigureProps } from "./ChartFigure.tsx"
import { ChartFoot } from "./ChartFoot.tsx"
import { Legend, Swatch } from "./Legend.tsx"
import { Marked, useMarked } from "./Marked.tsx"
import { colorOf, dashOf, type PlotStyle } from "./PlotStyle.ts"
import { usePlot } from "./usePlot.ts"
import { useStable } from "./useStable.ts"
import "./facets.css"

interface FacetsFigureProps extends Omit<FigureProps, "isMain" | "isSingle" | "run"> {
  readonly facets: ReadonlyArray<Facet>
}

const isSame = (left: ReadonlyArray<Facet>, right: ReadonlyArray<Facet>): boolean =>
  left.length === right.length &&
  left.every(
    ({ entries, name }, index) => right[index]!.name === name && Curves.isSameLayout(entries, right[index]!.entries)
  )

export const FacetsFigure = ({
  chart,
  entries,
  findings,
  metrics,
  onPick,
  onZoom,
  style,
  view,
  ...props
}: FacetsFigureProps) => {
  const facets = useStable(props.facets, isSame)
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set())
  const [ownLogY, setOwnLogY] = useState<boolean | null>(null)
  const grid = useRef<HTMLDivElement>(null)
  const id = useId()
  const isLogY = ownLogY ?? view.isLogY
  const all = useMemo(() => facets.flatMap(({ entries }) => entries), [facets])
  const legend = useMemo(() => [...new Map(all.map((entry) => [entry.label, entry])).values()], [all])
  const hiddenKeys = useMemo(
    () => new Set(all.filter(({ label }) => hidden.has(label)).map(({ key }) => key)),
    [all, hidden]
  )
  const compared = useMemo(() => all.filter(({ label }) => !hidden.has(label)), [all, hidden])
  const toggle = useCallback(
    (label: string) =>
      setHidden((last) => {
        const next = new Set(last)
        if (!next.delete(label)) next.add(label)
        return next
      }),
    []
  )
  const spread = all.find(({ hasSpread }) => hasSpread)?.trace.spread
  const help = [chart.help, ...(spread === undefined ? [] : [`(${spread.label})`])].join(" ")
  const marked = useMarked(findings, all)
  return (
    <figure className="chart facets" aria-labelledby={id}>
      <figcaption>
        <div className="chart-head">
          <h3 id={id}>{chart.title}</h3>
        </div>
        {help !== "" && <p className="chart-help">{help}</p>}
        {marked.length > 0 && <Marked findings={marked} run={all[0]!.run.name} />}
        {legend.length > 1 && (
          <Legend entries={legend} hidden={hidden} idOf={({ label }) => label} style={style} onToggle={toggle} />
        )}
      </figcaption>
      <div className="facet-grid" ref={grid}>
        {facets.map(({ entries, name }) => (
          <FacetPlot
            key={name}
            chart={chart}
            name={name}
            entries={entries}
            compared={compared}
            hidden={hiddenKeys}
            isLogY={isLogY}
            findings={findings}
            metrics={metrics}
            style={style}
            view={view}
            onPick={onPick}
            onZoom={onZoom}
          />
        ))}
      </div>
      <ChartFoot
        chart={chart}
        entries={entries}
        metrics={metrics}
        view={view}
        isLogY={isLogY}
        onLogY={setOwnLogY}
        picture={() =>
          drawFacets(
            grid.current,
            chart.title,
            legend.filter(({ label }) => !hidden.has(label)),
            style
          )
        }
      />
    </figure>
  )
}

interface FacetPlotProps extends Pick<FigureProps, "chart" | "onPick" | "onZoom"> {
  readonly name: string
  readonly entries: ReadonlyArray<Curves.Entry>
  readonly compared: ReadonlyArray<Curves.Entry>
  readonly hidden: ReadonlySet<string>
  readonly isLogY: boolean
  readonly findings: ReadonlyArray<Finding>
  readonly metrics: RunMetrics
  readonly style: PlotStyle
  readonly view: PageView
}

const FacetPlot = ({ chart, entries, hidden, name, style, ...props }: FacetPlotProps) => {
  const own = useMemo(() => ({ ...chart, title: `${chart.title} · ${name}` }), [chart, name])
  const findings = useMarked(props.findings, entries)
  const { gaps, host, legend, onKeyDown, position } = usePlot({
    ...props,
    chart: own,
    entries,
    findings,
    hidden,
    style
  })
  const valueRef = (key: string) => (element: HTMLElement | null) => {
    if (element === null) legend.delete(key)
    else legend.set(key, element)
  }
  const visible = entries.filter(({ key }) => !hidden.has(key))
  return (
    <div className="facet">
      <div className="facet-head">
        <h4>{name}</h4>
        <span className="chart-position" ref={position} />
      </div>
      <ul className="facet-values" aria-label={`Values of ${name}`}>
        {visible.map((entry) => (
          <li key={entry.key} title={entry.label}>
            <Swatch color={colorOf(entry, style.series)} dash={dashOf(entry)} />
            <span className="sr-only">{entry.label}</span>
            <span className="number" ref={valueRef(entry.key)} />
          </li>
        ))}
      </ul>
      <p className="chart-gaps" ref={gaps} hidden />
      <div
        className="chart-plot"
        role="slider"
        tabIndex={0}
        aria-label={`${own.title}, line chart`}
        aria-valuenow={0}
        title="Arrows move along the curve; Enter, or a click, opens the groups of the step"
        ref={host}
        onKeyDown={onKeyDown}
      />
    </div>
  )
}
