/** Draws a table on a canvas in the colours of the page. */
import type * as Save from "./Save.ts"

const [line, room, size] = [24, 12, 13]
const maxRows = 200
const longest = 60

export const colorsOf = (): { readonly surface: string; readonly text: string; readonly muted: string } => {
  const probe = document.createElement("span")
  document.body.append(probe)
  const [surface, text, muted] = ["surface", "text", "muted"].map((name) => {
    probe.style.color = `var(--${name})`
    return getComputedStyle(probe).color
  })
  probe.remove()
  return { surface: surface!, text: text!, muted: muted! }
}

const format = (value: Save.Value | undefined): string => {
  const text = value === null || value === undefined ? "–" : String(value).replaceAll(/\s+/g, " ")
  return text.length > longest ? `${text.slice(0, longest - 1)}…` : text
}

export const drawTable = (title: string, { columns, rows }: Save.Table): HTMLCanvasElement => {
  const cells = [columns.map(format), ...rows.slice(0, maxRows).map((row) => columns.map((_, at) => format(row[at])))]
  const canvas = document.createElement("canvas")
  // The context only fails after a request for another kind.
  const context = canvas.getContext("2d")!
  const font = `${size}px ${getComputedStyle(document.body).fontFamily}`
  context.font = font
  const widths = columns.map((_, at) => Math.max(...cells.map((row) => context.measureText(row[at]!).width)) + 2 * room)
  const scale = 2
  canvas.width = scale * (widths.reduce((sum, width) => sum + width, 0) + 2 * room)
  canvas.height = scale * (line * (cells.length + 1) + 2 * room)
  const colors = colorsOf()
  context.scale(scale, scale)
  context.fillStyle = colors.surface
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.textBaseline = "middle"
  context.fillStyle = colors.text
  context.font = `600 ${font}`
  context.fillText(title, 2 * room, room + line / 2)
  for (const [at, row] of cells.entries()) {
    context.font = at === 0 ? `600 ${font}` : font
    context.fillStyle = at === 0 ? colors.muted : colors.text
    let x = 2 * room
    for (const [column, text] of row.entries()) {
      context.fillText(text, x, room + line * (at + 1.5))
      x += widths[column]!
    }
  }
  return canvas
}
