/**
 * Keeps a canvas up to date with the curves of a chart: new points and legend values are applied directly, in portions
 * per animation frame, and only while the chart is visible or being saved. The crosshair can be moved by keyboard.
 */
import { useEffect, useRef, useState } from "react"
import type { Finding } from "../health/useHealth.ts"
import type { Chart } from "./Catalog.ts"
import * as Curves from "./Curves.ts"
import type { PageView } from "./PageView.ts"
import type { RunMetrics } from "../metrics/RunMetrics.ts"
import { make, type Plot } from "./Plot.ts"
import type { Mark, PlotStyle } from "./PlotStyle.ts"
import * as Readout from "./Readout.ts"
import * as Line from "./Line.ts"

/**
 * Spreads work over animation frames: each frame runs requested work, oldest first, until its time budget is used up.
 * Work requested again before its turn runs once.
 */
const budgetMillis = 3

const waiting = new Set<() => void>()
let frame: number | null = null

const turn = (): void => {
  const end = performance.now() + budgetMillis
  for (const work of waiting) {
    waiting.delete(work)
    work()
    if (performance.now() >= end) break
  }
  frame = waiting.size === 0 ? null : requestAnimationFrame(turn)
}

const requestTurn = (work: () => void): void => {
  waiting.add(work)
  frame ??= requestAnimationFrame(turn)
}

const cancelTurn = (work: () => void): void => void waiting.delete(work)

/** Moves the crosshair by keyboard between the values of a curve. Pure. */
const moves: { readonly [key: string]: number } = {
  ArrowRight: 1,
  ArrowLeft: -1,
  PageUp: 10,
  PageDown: -10,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY
}

/** The target of a key from `x`, or from outside (null); undefined for other keys and without values. */
const walkTo = (key: string, xs: Float64Array, x: number | null): number | undefined => {
  const by = moves[key]
  if (by === undefined || xs.length === 0) return undefined
  const outside = by > 0 ? -1 : xs.length
  const at = x === null ? outside : Line.nearest({ xs, ys: xs }, x)!
  return xs[Math.min(xs.length - 1, Math.max(0, at + by))]
}

interface PlotInput {
  readonly chart: Chart
  readonly entries: ReadonlyArray<Curves.Entry>
  /** For side-by-side charts: the curves whose range all of them cover; their axes need no names. */
  readonly compared?: ReadonlyArray<Curves.Entry> | undefined
  readonly findings: ReadonlyArray<Finding>
  readonly hidden: ReadonlySet<string>
  readonly isLogY: boolean
  readonly metrics: RunMetrics
  readonly view: PageView
  readonly style: PlotStyle
  readonly onPick: (picked: Curves.Picked) => void
  readonly onZoom: (range: readonly [number, number] | null) => void
}

const drawEvent = "draw-now"

/** Draws charts that may not have been visible yet. uPlot paints in a microtask. */
export const drawNow = async (hosts: Iterable<Element>): Promise<void> => {
  for (const host of hosts) host.dispatchEvent(new Event(drawEvent))
  await Promise.resolve()
}

/** Updates a canvas in `host`; the legend's elements are in `legend`, by curve key. */
export const usePlot = (input: PlotInput) => {
  const { compared, chart, entries, findings, hidden, isLogY, metrics, onPick, onZoom, style, view } = input
  const host = useRef<HTMLDivElement>(null)
  const position = useRef<HTMLSpanElement>(null)
  const gaps = useRef<HTMLParagraphElement>(null)
  const [legend] = useState(() => new Map<string, HTMLElement>())
  const latest = useRef({ view, onPick, onZoom })
  const keys = useRef<(event: KeyboardEvent) => void>(() => {})
  const redraw = useRef<() => void>(() => {})
  const { axis, isLogX, range, smoothing } = view

  useEffect(() => {
    latest.current = { view, onPick, onZoom }
  }, [view, onPick, onZoom])

  useEffect(() => {
    const element = host.current
    if (element === null) return
    const visible = entries.filter(({ key }) => !hidden.has(key))
    // uPlot cannot lay out a chart without series.
    if (visible.length === 0) return
    let plot: Plot | null = null
    let curves: ReadonlyArray<Curves.Curve> = []
    let isVisible = false
    let isDue = true
    let crosshair: number | null = null

    const readout = Readout.make({ element, chart, axis, legend, position: () => position.current })
    const showValues = () => readout.show(curves, crosshair)
    const follow = (x: number | null) => {
      crosshair = x
      showValues()
    }
    const zoom = (range: readonly [number, number] | null) => latest.current.onZoom(range)
    const pick = (entry: Curves.Entry, x: number) => latest.current.onPick(Curves.picked(entry, x, axis))
    keys.current = (event) => {
      const [first] = curves
      const to = first === undefined ? undefined : walkTo(event.key, first.line.xs, crosshair)
      if (to !== undefined) plot?.point(to)
      else if (event.key === "Enter" && crosshair !== null && first !== undefined)
        latest.current.onPick(Curves.picked(first.entry, crosshair, axis))
      else return
      event.preventDefault()
      event.stopPropagation()
    }

    const work = () => {
      isDue = !isVisible
      if (isVisible) draw()
    }
    const draw = () => {
      const { view } = latest.current
      const runs = metrics.states()
      const range = view.range ?? Curves.domain(runs, axis) ?? [0, 1]
      curves = Curves.draw(chart, visible, { axis, smoothing: view.smoothing })
      plot ??= make(
        element,
        { width: element.clientWidth, height: element.clientHeight },
        {
          chart,
          entries: visible,
          hasAxisNames: compared === undefined,
          axis,
          isLogX,
          isLogY,
          style,
          onCursor: follow,
          onZoom: zoom,
          onPick: pick
        }
      )
      const shownRange = drawable(range, isLogX)
      const all = compared === undefined ? null : Curves.draw(chart, compared, { axis, smoothing: view.smoothing })
      const extent = all === null ? null : Curves.extent(all, shownRange, isLogY)
      plot.update(curves, shownRange, marksOf(findings, visible, axis), extent)
      element.toggleAttribute("data-not-positive", isLogY && !curves.some(({ drawn }) => drawn.ys.some((y) => y > 0)))
      showValues()
      const withoutNumber = Curves.gapsTold(curves)
      if (gaps.current !== null) {
        gaps.current.hidden = withoutNumber === ""
        if (gaps.current.textContent !== withoutNumber) gaps.current.textContent = withoutNumber
      }
      readout.name(curves, withoutNumber)
    }

    element.addEventListener(drawEvent, draw)
    redraw.current = () => requestTurn(work)
    const visibility = new IntersectionObserver(
      ([entry]) => {
        isVisible = entry?.isIntersecting === true
        if (isVisible && isDue) requestTurn(work)
      },
      { root: element.closest(".main"), rootMargin: "240px" }
    )
    visibility.observe(element)
    const size = new ResizeObserver(() => plot?.resize(element.clientWidth, element.clientHeight))
    size.observe(element)
    const unsubscribe = metrics.subscribe(redraw.current)
    return () => {
      unsubscribe()
      element.removeEventListener(drawEvent, draw)
      visibility.disconnect()
      size.disconnect()
      redraw.current = () => {}
      cancelTurn(work)
      plot?.destroy()
    }
  }, [compared, chart, entries, findings, hidden, isLogX, isLogY, axis, metrics, style, legend])

  useEffect(() => redraw.current(), [range, smoothing])

  const onKeyDown = (event: { readonly nativeEvent: KeyboardEvent }) => keys.current(event.nativeEvent)
  return { gaps, host, legend, onKeyDown, position }
}

const marksOf = (
  findings: ReadonlyArray<Finding>,
  entries: ReadonlyArray<Curves.Entry>,
  axis: Curves.Axis
): ReadonlyArray<Mark> =>
  findings.flatMap(({ from, metric, severity, source, steps = [from] }) => {
    const entry = entries.find((entry) => entry.source === source && entry.trace.metric === metric)
    return entry === undefined ? [] : steps.map((step) => ({ x: Curves.xOf(entry, step, axis), severity }))
  })

/** A non-empty range, above zero if the axis is logarithmic. */
const drawable = ([from, to]: readonly [number, number], isLog: boolean): readonly [number, number] => {
  const start = isLog ? Math.max(from, 1) : from
  return to > start ? [start, to] : [start, start + 1]
}
