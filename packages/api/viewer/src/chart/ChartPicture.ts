/** Draws a chart to a canvas as shown on the page, with title and legend above it. */
import { colorOf, type PlotStyle } from "./PlotStyle.ts"
import { drawNow } from "./usePlot.ts"
import type * as Curves from "./Curves.ts"
import { colorsOf } from "../save/TablePicture.ts"

const [head, room, size] = [30, 12, 13]

type Entries = ReadonlyArray<Curves.Entry>

/** Draws the charts of an element in place, below title and legend. */
const draw = (
  area: Element,
  charts: Iterable<HTMLCanvasElement>,
  names: Iterable<Element>,
  title: string,
  entries: Entries,
  style: PlotStyle
): HTMLCanvasElement => {
  const { height, left, top, width } = area.getBoundingClientRect()
  const scale = window.devicePixelRatio
  const canvas = document.createElement("canvas")
  canvas.width = (width + 2 * room) * scale
  canvas.height = (height + 2 * head + room) * scale
  // The context only fails after a request for another kind.
  const context = canvas.getContext("2d")!
  const colors = colorsOf()
  const font = getComputedStyle(document.body).fontFamily
  context.scale(scale, scale)
  context.fillStyle = colors.surface
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.textBaseline = "middle"
  context.font = `600 ${size + 1}px ${font}`
  context.fillStyle = colors.text
  context.fillText(title, room, head / 2 + 4)
  context.font = `${size - 1}px ${font}`
  let x = room
  for (const entry of entries) {
    context.fillStyle = colorOf(entry, style.series)
    context.fillRect(x, head * 1.5 - 2, 16, 3)
    context.fillStyle = colors.muted
    context.fillText(entry.label, x + 22, head * 1.5)
    x += 38 + context.measureText(entry.label).width
  }
  context.fillStyle = colors.text
  for (const name of names) {
    const box = name.getBoundingClientRect()
    context.fillText(name.textContent, room + box.left - left, 2 * head + box.top - top + box.height / 2)
  }
  for (const chart of charts) {
    const box = chart.getBoundingClientRect()
    context.drawImage(chart, room + box.left - left, 2 * head + box.top - top, box.width, box.height)
  }
  return canvas
}

export const drawChart = async (plot: Element | null, title: string, entries: Entries, style: PlotStyle) => {
  if (plot === null) return null
  await drawNow([plot])
  return draw(plot, plot.querySelectorAll("canvas"), [], title, entries, style)
}

export const drawFacets = async (grid: Element | null, title: string, entries: Entries, style: PlotStyle) => {
  if (grid === null) return null
  await drawNow(grid.querySelectorAll(".chart-plot"))
  return draw(grid, grid.querySelectorAll("canvas"), grid.querySelectorAll("h4"), title, entries, style)
}
