/** Draws overlays of a chart's curves: non-finite values, error bars, marked moments. */
import uPlot from "uplot"
import type { Curve } from "./Curves.ts"
import { colorOf, type Mark, type PlotStyle } from "./PlotStyle.ts"

/** A vertical line with a flag at its top. */
export const drawMarks = (plot: uPlot, marks: ReadonlyArray<Mark>, style: PlotStyle): void => {
  const { bbox, ctx } = plot
  const size = 5 * uPlot.pxRatio
  ctx.save()
  for (const { severity, x } of marks) {
    const at = Math.round(plot.valToPos(x, "x", true))
    if (!(at >= bbox.left && at <= bbox.left + bbox.width)) continue
    ctx.strokeStyle = ctx.fillStyle = style[severity]
    ctx.lineWidth = uPlot.pxRatio
    ctx.setLineDash([3 * uPlot.pxRatio, 3 * uPlot.pxRatio])
    ctx.beginPath()
    ctx.moveTo(at, bbox.top)
    ctx.lineTo(at, bbox.top + bbox.height)
    ctx.stroke()
    ctx.setLineDash([])
    ctx.beginPath()
    ctx.moveTo(at - size, bbox.top)
    ctx.lineTo(at + size, bbox.top)
    ctx.lineTo(at, bbox.top + 1.4 * size)
    ctx.fill()
  }
  ctx.restore()
}

/** A cross on the axis at each non-finite value. */
export const drawGaps = (plot: uPlot, curves: ReadonlyArray<Curve>, style: PlotStyle): void => {
  const { bbox, ctx } = plot
  const half = 3 * uPlot.pxRatio
  const y = bbox.top + bbox.height - 2 * half
  ctx.save()
  for (const { entry, gaps } of curves) {
    ctx.beginPath()
    ctx.strokeStyle = colorOf(entry, style.series)
    ctx.lineWidth = 1.5 * uPlot.pxRatio
    for (const { x } of gaps) {
      const at = plot.valToPos(x, "x", true)
      if (!(at >= bbox.left && at <= bbox.left + bbox.width)) continue
      ctx.moveTo(at - half, y - half)
      ctx.lineTo(at + half, y + half)
      ctx.moveTo(at - half, y + half)
      ctx.lineTo(at + half, y - half)
    }
    ctx.stroke()
  }
  ctx.restore()
}

export const drawErrorBars = (plot: uPlot, curves: ReadonlyArray<Curve>, style: PlotStyle): void => {
  const { ctx } = plot
  const half = 3 * uPlot.pxRatio
  ctx.save()
  ctx.beginPath()
  // Bars at the edges, such as those before the first step, are drawn whole.
  const { height, left, top, width } = plot.bbox
  ctx.rect(left - 2 * half, top - half, width + 4 * half, height + 2 * half)
  ctx.clip()
  for (const { band, entry } of curves) {
    if (band === null) continue
    ctx.beginPath()
    ctx.strokeStyle = colorOf(entry, style.series)
    ctx.lineWidth = 1.25 * uPlot.pxRatio
    band.low.xs.forEach((x, index) => {
      const at = plot.valToPos(x, "x", true)
      const low = plot.valToPos(band.low.ys[index]!, "y", true)
      const high = plot.valToPos(band.high.ys[index]!, "y", true)
      ctx.moveTo(at, low)
      ctx.lineTo(at, high)
      for (const end of [low, high]) {
        ctx.moveTo(at - half, end)
        ctx.lineTo(at + half, end)
      }
    })
    ctx.stroke()
  }
  ctx.restore()
}
