/** A chart as it stands on the page, with its title and legend above it. */
import { colorOf, type PlotStyle } from "../run/chart/PlotStyle.ts"
import type * as Curves from "../run/Curves.ts"
import { colorsOf } from "./TablePicture.ts"

const [head, room, size] = [30, 12, 13]

export const drawChart = (
  plot: Element | null,
  title: string,
  entries: ReadonlyArray<Curves.Entry>,
  style: PlotStyle
): HTMLCanvasElement | null => {
  const drawn = plot?.querySelector("canvas")
  if (drawn === null || drawn === undefined) return null
  const scale = window.devicePixelRatio
  const canvas = document.createElement("canvas")
  canvas.width = drawn.width + 2 * room * scale
  canvas.height = drawn.height + (2 * head + room) * scale
  const context = canvas.getContext("2d")!
  const colors = colorsOf()
  const font = getComputedStyle(document.body).fontFamily
  context.fillStyle = colors.surface
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.drawImage(drawn, room * scale, 2 * head * scale)
  context.scale(scale, scale)
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
  return canvas
}
