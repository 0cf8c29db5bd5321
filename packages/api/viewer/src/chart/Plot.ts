/**
 * Draws a chart on a canvas with uPlot: curves, bands, error bars, a crosshair shared by all charts of the page, zoom
 * by dragging. Curves, scales and colours are fixed at creation; `update` brings new points and a new range of x. uPlot
 * gets at most as many points as there are pixels.
 */
import uPlot from "uplot"
import { type Chart, isMeasured } from "./Catalog.ts"
import type { Axis, Curve, Entry } from "./Curves.ts"
import * as Line from "./Line.ts"
import { drawErrorBars, drawGaps, drawMarks } from "./Marks.ts"
import { colorOf, dashOf, type Mark, type PlotStyle } from "./PlotStyle.ts"
import { followClicks, followTouch } from "./Pointers.ts"
import { namesOfAxes, rangeOfY, ticksX, ticksY, timeSteps } from "./Scales.ts"

export interface PlotOptions {
  readonly chart: Chart
  readonly entries: ReadonlyArray<Entry>
  readonly hasAxisNames: boolean
  readonly axis: Axis
  readonly isLogX: boolean
  readonly isLogY: boolean
  readonly style: PlotStyle
  /** Position of the crosshair by x; null if outside. */
  readonly onCursor: (x: number | null) => void
  /** Null: everything. */
  readonly onZoom: (range: readonly [number, number] | null) => void
  readonly onPick: (entry: Entry, x: number) => void
}

export interface Plot {
  /** `extent`: the values the vertical axis must cover; null: those of the curves. */
  readonly update: (
    curves: ReadonlyArray<Curve>,
    range: readonly [number, number],
    marks: ReadonlyArray<Mark>,
    extent: readonly [number, number] | null
  ) => void
  readonly point: (x: number) => void
  readonly resize: (width: number, height: number) => void
  readonly destroy: () => void
}

const faint = (color: string, alpha: number): string => color.replace("rgb(", "rgba(").replace(")", `, ${alpha})`)

/** A curve's uPlot series, in this order: bounds, recorded values, the curve. */
const linesOf = ({ band, drawn, raw }: Curve): ReadonlyArray<Line.Line> => [
  band?.high ?? Line.empty,
  band?.low ?? Line.empty,
  raw ?? Line.empty,
  drawn
]
const linesPerCurve = 4
const seriesOf = (index: number) => ({
  high: 1 + index * linesPerCurve,
  low: 2 + index * linesPerCurve,
  raw: 3 + index * linesPerCurve,
  curve: 4 + index * linesPerCurve
})

const font = "11px ui-sans-serif, system-ui, sans-serif"
const yAxisWidth = 50
const nameSize = 15

export const make = (
  element: HTMLElement,
  size: { readonly width: number; readonly height: number },
  options: PlotOptions
): Plot => {
  let range: readonly [number, number] = [0, 1]
  let curves: ReadonlyArray<Curve> = []
  let marks: ReadonlyArray<Mark> = []
  let extent: readonly [number, number] | null = null
  const plot = new uPlot(
    settings(
      options,
      size,
      () => range,
      () => ({ curves, extent, marks })
    ),
    [new Float64Array()],
    element
  )
  const leaveTouch = followTouch(plot.over)
  const leaveClicks = followClicks(plot.over, (left, top) => {
    const x = plot.posToVal(left, "x")
    const distances = curves.map(({ drawn }) => {
      const at = Line.nearest(drawn, x)
      const y = at === undefined ? Number.NaN : drawn.ys[at]!
      // A gap is infinitely far away.
      return Number.isFinite(y) ? Math.abs(plot.valToPos(y, "y") - top) : Number.POSITIVE_INFINITY
    })
    const nearest = curves[distances.indexOf(Math.min(...distances))] ?? curves[0]
    if (nearest !== undefined) options.onPick(nearest.entry, x)
  })

  const show = () => {
    const [from, to] = range
    const pixels = Math.max(50, Math.round(plot.bbox.width / uPlot.pxRatio))
    const window = { from, to, buckets: pixels, isLog: options.isLogX }
    const { xs, ys } = Line.align(curves.flatMap(linesOf).map((line) => Line.thin(line, window)))
    plot.setData([xs, ...ys])
  }
  return {
    update: (next, nextRange, nextMarks, nextExtent) => {
      curves = next
      range = nextRange
      marks = nextMarks
      extent = nextExtent
      show()
    },
    point: (x) => plot.setCursor({ left: plot.valToPos(x, "x"), top: plot.over.clientHeight / 2 }),
    resize: (width, height) => {
      if (width === plot.width && height === plot.height) return
      plot.setSize({ width, height })
      show()
    },
    destroy: () => {
      leaveTouch()
      leaveClicks()
      plot.destroy()
    }
  }
}

const settings = (
  options: PlotOptions,
  size: { readonly width: number; readonly height: number },
  range: () => readonly [number, number],
  visible: () => {
    readonly curves: ReadonlyArray<Curve>
    readonly extent: readonly [number, number] | null
    readonly marks: ReadonlyArray<Mark>
  }
): uPlot.Options => {
  const { axis, chart, entries, hasAxisNames, isLogX, isLogY, onCursor, onZoom, style } = options
  const grid = { stroke: style.grid, width: 1 }
  const names = namesOfAxes(chart, axis)
  const isStacked = chart.kind === "stacked"
  const plain = { stroke: style.text, font, ticks: { show: false }, gap: 6 }
  return {
    ...size,
    padding: [8, 16, 0, 0],
    legend: { show: false },
    series: [{}, ...entries.flatMap((entry) => seriesFor(entry, options))],
    bands: isStacked ? stackedBands(options) : entries.map((entry, index) => bandFor(entry, index, options)),
    scales: {
      x: { time: false, distr: isLogX ? 3 : 1, range: () => [...range()] },
      y: {
        distr: isLogY ? 3 : 1,
        range: (_, min, max) => {
          const [lowest, greatest] = visible().extent ?? [min, max]
          if (!isLogY) return rangeOfY(lowest, greatest, chart.unit)
          return lowest === null || greatest === null ? [null, null] : uPlot.rangeLog(lowest, greatest, 10, false)
        }
      }
    },
    axes: [
      {
        ...plain,
        size: 24,
        ...(hasAxisNames && { label: names.x, labelSize: nameSize, labelFont: font }),
        grid: { show: false },
        space: 64,
        values: (_, splits) => ticksX(splits, axis),
        ...(axis === "time" && !isLogX ? { incrs: timeSteps } : {})
      },
      {
        ...plain,
        size: yAxisWidth,
        ...(hasAxisNames && { label: names.y, labelSize: nameSize, labelFont: font }),
        space: 30,
        grid,
        values: (_, splits) => ticksY(splits, chart.unit)
      }
    ],
    cursor: {
      y: false,
      drag: { x: true, y: false, setScale: false, dist: 6 },
      sync: {
        key: "atropos-run",
        scales: ["x", null],
        // The crosshair is shared, a drag is not.
        filters: { pub: (type) => type === "mousemove" || type === "mouseleave" }
      },
      points: { size: 9, show: (plot, index) => hoverPoint(plot, index, style, entries) },
      // A click opens what is behind a point, so a double click must not reset.
      bind: { dblclick: () => () => null }
    },
    hooks: {
      setCursor: [
        (plot) => {
          const { left = -1 } = plot.cursor
          onCursor(left < 0 ? null : plot.posToVal(left, "x"))
        }
      ],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select
          if (width <= 0) return
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
          onZoom([plot.posToVal(left, "x"), plot.posToVal(left + width, "x")])
        }
      ],
      draw: [
        (plot) => {
          const measured = visible().curves.filter(({ entry }) => isMeasured(chart, entry.trace))
          drawErrorBars(plot, measured, style)
        },
        (plot) => drawGaps(plot, visible().curves, style),
        (plot) => drawMarks(plot, visible().marks, style)
      ]
    }
  }
}

const seriesFor = (entry: Entry, { chart, style }: PlotOptions): ReadonlyArray<uPlot.Series> => {
  const color = colorOf(entry, style.series)
  // A step without a value (undefined) is skipped; a non-finite value (null) is a gap.
  const common: uPlot.Series = { scale: "y", spanGaps: false, points: { show: false } }
  // Bounds count for the scale; the band between them is filled, or bars are drawn.
  const bound: uPlot.Series = { ...common, stroke: "transparent", width: 0 }
  const curve: uPlot.Series = {
    ...common,
    stroke: color,
    width: chart.kind === "stacked" ? 1 : 1.75,
    dash: dashOf(entry),
    points: isMeasured(chart, entry.trace)
      ? { show: true, size: 7, fill: color, stroke: style.surface, width: 1.5 }
      : { size: 5, fill: color, stroke: color }
  }
  if (chart.kind === "stacked") curve.fill = faint(color, 0.45)
  return [bound, bound, { ...common, stroke: faint(color, 0.28), width: 1 }, curve]
}

const bandFor = (entry: Entry, index: number, { chart, style }: PlotOptions): uPlot.Band => {
  const { high, low } = seriesOf(index)
  return {
    series: [high, low],
    fill: isMeasured(chart, entry.trace) ? "transparent" : faint(colorOf(entry, style.series), 0.14)
  }
}

const stackedBands = ({ entries, style }: PlotOptions): Array<uPlot.Band> =>
  entries.slice(1).map((entry, index) => ({
    series: [seriesOf(index + 1).curve, seriesOf(index).curve],
    fill: faint(colorOf(entry, style.series), 0.45)
  }))

/** The point of a curve at the crosshair; bounds and recorded values have none. */
const hoverPoint = (plot: uPlot, index: number, style: PlotStyle, entries: ReadonlyArray<Entry>): HTMLElement => {
  const entry = index > 0 && index % linesPerCurve === 0 ? entries[index / linesPerCurve - 1] : undefined
  // uPlot accepts null as "no point", unlike its types.
  if (entry === undefined) return null as unknown as HTMLElement
  const point = plot.root.ownerDocument.createElement("div")
  point.className = "hover-point"
  point.style.background = colorOf(entry, style.series)
  return point
}
