/**
 * A chart with its title, legend and values. The legend shows each curve's value under the crosshair, else its last;
 * the values are there as a table too, for those who cannot see or point.
 *
 * React renders its frame alone. New points go to the canvas and into the legend directly, a piece of each frame, and
 * only while the chart is on the screen.
 */
import { useEffect, useId, useRef, useState } from "react"
import type { Chart } from "./Catalog.ts"
import * as Curves from "./Curves.ts"
import * as Frames from "./Frames.ts"
import * as Line from "./Line.ts"
import { colorOf, dashOf, make, type Plot, type PlotStyle } from "./Plot.ts"
import { duration, quantity } from "./Quantity.ts"
import type { RunMetrics } from "./RunMetrics.ts"
import type { PageView } from "./PageView.ts"
import { useRunShapes } from "./useRunMetrics.ts"
import { useStable } from "./useStable.ts"
import { ValuesTable } from "./ValuesTable.tsx"

export interface ChartFigureProps {
  readonly chart: Chart
  /** Of one run, where the chart cannot show several. */
  readonly run?: string
  readonly metrics: RunMetrics
  readonly view: PageView
  readonly style: PlotStyle
  readonly onZoom: (range: readonly [number, number] | null) => void
}

const height = 176
const largeHeight = 380

export const ChartFigure = ({ metrics, onZoom, run, style, view, ...props }: ChartFigureProps) => {
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
  const { gaps, host, legend, position } = usePlot({ chart, entries, hidden, isLogY, metrics, onZoom, style, view })

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
        {!isSingle && (
          <ul className="chart-legend" aria-label="Curves">
            {entries.map((entry) => (
              <li key={entry.key}>
                <button
                  type="button"
                  className="quiet small"
                  aria-pressed={!hidden.has(entry.key)}
                  onClick={() => toggle(entry.key)}
                >
                  <Swatch color={colorOf(entry, style.series)} dash={dashOf(entry)} />
                  <span className="chart-name">{entry.label}</span>
                  <span className="number" ref={valueRef(entry.key)} />
                </button>
              </li>
            ))}
          </ul>
        )}
      </figcaption>
      <div
        className="chart-plot"
        role="img"
        aria-label={`${chart.title}, line chart`}
        ref={host}
        style={{ height: isLarge ? largeHeight : height }}
      />
      <div className="chart-foot">
        <ValuesTable chart={chart} entries={entries} axis={view.axis} metrics={metrics} />
        <div className="chart-tools">
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

export const Swatch = ({ color, dash = [] }: { readonly color: string; readonly dash?: ReadonlyArray<number> }) => (
  <svg className="line-swatch" viewBox="0 0 20 8" width="20" height="8" aria-hidden="true">
    <path d="M1 4H19" stroke={color} strokeWidth="3" strokeDasharray={dash.join(" ")} />
  </svg>
)

interface PlotInput {
  readonly chart: Chart
  readonly entries: ReadonlyArray<Curves.Entry>
  readonly hidden: ReadonlySet<string>
  readonly isLogY: boolean
  readonly metrics: RunMetrics
  readonly view: PageView
  readonly style: PlotStyle
  readonly onZoom: (range: readonly [number, number] | null) => void
}

/** Keeps a canvas in `host` up to date; the legend's elements are in `legend`, by the keys of the curves. */
const usePlot = ({ chart, entries, hidden, isLogY, metrics, onZoom, style, view }: PlotInput) => {
  const host = useRef<HTMLDivElement>(null)
  const position = useRef<HTMLSpanElement>(null)
  const gaps = useRef<HTMLParagraphElement>(null)
  const [legend] = useState(() => new Map<string, HTMLElement>())
  const latest = useRef({ view, onZoom })
  const redraw = useRef<() => void>(() => {})
  const { axis, isLogX, range, smoothing } = view

  useEffect(() => {
    latest.current = { view, onZoom }
  }, [view, onZoom])

  useEffect(() => {
    const element = host.current
    if (element === null) return
    const shown = entries.filter(({ key }) => !hidden.has(key))
    // uPlot cannot lay out a chart without any series.
    if (shown.length === 0) return
    let plot: Plot | null = null
    let curves: ReadonlyArray<Curves.Curve> = []
    let isVisible = false
    let isDue = true
    let crosshair: number | null = null

    const textAt = ({ line }: Curves.Curve, x: number | null): string => {
      const value = valueAt(line, x)
      return value === null ? "–" : quantity(value, chart.unit)
    }
    const showValues = () => {
      for (const curve of curves) {
        const text = textAt(curve, crosshair)
        const cell = legend.get(curve.entry.key)
        if (cell !== undefined && cell.textContent !== text) cell.textContent = text
      }
      if (position.current !== null) {
        // Of few measurements the nearest is told, with its own step.
        const [curve] = chart.kind === "points" ? curves : []
        const at = crosshair === null || curve === undefined ? undefined : Line.nearest(curve.line, crosshair)
        const told = at === undefined ? crosshair : curve!.line.xs[at]!
        position.current.textContent = told === null ? "" : shownPosition(told, axis)
      }
    }

    const work = () => {
      isDue = !isVisible
      if (!isVisible) return
      const { view } = latest.current
      const runs = metrics.states()
      const wanted = view.range ?? Curves.domain(runs, axis) ?? [0, 1]
      curves = Curves.draw(chart, shown, { axis, smoothing: view.smoothing })
      plot ??= make(
        element,
        { width: element.clientWidth, height: element.clientHeight },
        {
          chart,
          entries: shown,
          axis,
          isLogX,
          isLogY,
          style,
          onCursor: (x) => {
            crosshair = x
            showValues()
          },
          onZoom: (range) => latest.current.onZoom(range)
        }
      )
      plot.update(curves, drawable(wanted, isLogX))
      element.toggleAttribute("data-not-positive", isLogY && !curves.some(({ drawn }) => drawn.ys.some((y) => y > 0)))
      showValues()
      const withoutNumber = Curves.gapsTold(curves)
      if (gaps.current !== null) {
        gaps.current.hidden = withoutNumber === ""
        if (gaps.current.textContent !== withoutNumber) gaps.current.textContent = withoutNumber
      }
      const told = curves.map((curve) => `${curve.entry.label} ${textAt(curve, null)}`)
      element.setAttribute(
        "aria-label",
        `${chart.title}, line chart. Last values: ${told.join(", ")}.${withoutNumber === "" ? "" : ` ${withoutNumber}.`}`
      )
    }

    redraw.current = () => Frames.request(work)
    const visibility = new IntersectionObserver(
      ([entry]) => {
        isVisible = entry?.isIntersecting === true
        if (isVisible && isDue) Frames.request(work)
      },
      { root: element.closest(".main"), rootMargin: "240px" }
    )
    visibility.observe(element)
    const size = new ResizeObserver(() => plot?.resize(element.clientWidth, element.clientHeight))
    size.observe(element)
    const unsubscribe = metrics.subscribe(redraw.current)
    return () => {
      unsubscribe()
      visibility.disconnect()
      size.disconnect()
      redraw.current = () => {}
      Frames.cancel(work)
      plot?.destroy()
    }
  }, [chart, entries, hidden, isLogX, isLogY, axis, metrics, style, legend])

  useEffect(() => redraw.current(), [range, smoothing])

  return { gaps, host, legend, position }
}

/** The last value; with `x` the nearest one, if `x` is not beyond the curve's ends. */
const valueAt = (line: Line.Line, x: number | null): number | null => {
  if (line.xs.length === 0) return null
  if (x === null) return line.ys.at(-1)!
  const room = (line.xs.at(-1)! - line.xs[0]!) * 0.01
  if (x < line.xs[0]! - room || x > line.xs.at(-1)! + room) return null
  return line.ys[Line.nearest(line, x)!]!
}

const shownPosition = (x: number, axis: Curves.Axis): string =>
  axis === "step" ? `step ${Math.round(x)}` : `after ${duration(Math.max(0, x))}`

/** A range with some length, above zero where the axis is logarithmic. */
const drawable = ([from, to]: readonly [number, number], isLog: boolean): readonly [number, number] => {
  const start = isLog ? Math.max(from, 1) : from
  return to > start ? [start, to] : [start, start + 1]
}
