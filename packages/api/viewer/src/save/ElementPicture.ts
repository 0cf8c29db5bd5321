/**
 * Draws a part of the page to a canvas below its title: backgrounds, SVG shapes and texts in place. Shapes are
 * rectangles and paths; collapsed, hidden and excluded parts (`data-no-picture`) are skipped.
 */
import { colorsOf } from "./TablePicture.ts"

const [head, room, size] = [30, 12, 14]
const maxPixels = 16_000
const leftOut = "[data-no-picture], .save-menu, .sr-only, title"
const clear = /^(?:transparent|rgba\(.*, 0\))$/

type Context = CanvasRenderingContext2D

const fontOf = ({ fontFamily, fontSize, fontStyle, fontWeight }: CSSStyleDeclaration): string =>
  `${fontStyle} ${fontWeight} ${fontSize} ${fontFamily}`

const drawGround = (context: Context, element: Element, { backgroundColor }: CSSStyleDeclaration): void => {
  if (clear.test(backgroundColor)) return
  context.fillStyle = backgroundColor
  for (const { height, left, top, width } of element.getClientRects()) context.fillRect(left, top, width, height)
}

const pathOf = (shape: SVGRectElement | SVGPathElement): Path2D => {
  if (shape instanceof SVGPathElement) return new Path2D(shape.getAttribute("d") ?? "")
  const path = new Path2D()
  const { height, width, x, y } = shape
  path.rect(x.baseVal.value, y.baseVal.value, width.baseVal.value, height.baseVal.value)
  return path
}

const drawShape = (context: Context, shape: SVGRectElement | SVGPathElement, style: CSSStyleDeclaration): void => {
  const matrix = shape.getScreenCTM()
  if (matrix === null) return
  const path = new Path2D()
  path.addPath(pathOf(shape), matrix)
  context.save()
  context.globalAlpha = Number(style.opacity) * Number(style.fillOpacity)
  if (style.fill !== "none") {
    context.fillStyle = style.fill
    // oxlint-disable-next-line unicorn/no-array-fill-with-reference-type -- a canvas is no array
    context.fill(path)
  }
  context.globalAlpha = Number(style.opacity) * Number(style.strokeOpacity)
  if (style.stroke !== "none") {
    const scale = style.vectorEffect === "non-scaling-stroke" ? 1 : Math.sqrt(Math.abs(matrix.a * matrix.d))
    context.strokeStyle = style.stroke
    context.lineWidth = Number.parseFloat(style.strokeWidth) * scale
    // Computed values are of this type.
    context.lineCap = style.strokeLinecap as CanvasLineCap
    context.setLineDash(
      style.strokeDasharray === "none" ? [] : style.strokeDasharray.split(/[ ,]+/).map(Number.parseFloat)
    )
    context.stroke(path)
  }
  context.restore()
}

const anchors: { readonly [anchor: string]: CanvasTextAlign } = { middle: "center", end: "right" }

const drawLabel = (context: Context, label: SVGTextElement, style: CSSStyleDeclaration): void => {
  const matrix = label.getScreenCTM()
  if (matrix === null) return
  context.save()
  context.transform(matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f)
  context.font = fontOf(style)
  context.fillStyle = style.fill
  context.textAlign = anchors[style.textAnchor] ?? "left"
  context.textBaseline = "alphabetic"
  const [x, y] = [label.x.baseVal, label.y.baseVal].map((all) => (all.numberOfItems === 0 ? 0 : all.getItem(0).value))
  context.fillText(label.textContent, x ?? 0, y ?? 0)
  context.restore()
}

interface Line {
  readonly text: string
  readonly box: DOMRect
}

/** The lines a text was wrapped to; only visible white space. */
const linesOf = (node: Text): ReadonlyArray<Line> => {
  const range = document.createRange()
  range.selectNodeContents(node)
  const boxes = range.getClientRects()
  const text = node.data.replaceAll(/\s/g, " ")
  if (boxes.length <= 1 && !text.startsWith(" ")) return Array.from(boxes, (box) => ({ text, box }))
  const lines: Array<{ text: string; readonly box: DOMRect }> = []
  for (let at = 0; at < text.length; at++) {
    range.setStart(node, at)
    range.setEnd(node, at + 1)
    const box = range.getClientRects()[0]
    if (box === undefined || box.width === 0) continue
    const last = lines.at(-1)
    if (last === undefined || Math.abs(last.box.top - box.top) > box.height / 2) lines.push({ text: text[at]!, box })
    else last.text += text[at]
  }
  return lines
}

const drawText = (context: Context, node: Text, style: CSSStyleDeclaration): void => {
  if (node.data.trim() === "") return
  context.font = fontOf(style)
  context.fillStyle = style.color
  context.textAlign = "left"
  context.textBaseline = "middle"
  for (const { box, text } of linesOf(node)) context.fillText(text, box.left, box.top + box.height / 2)
}

const isShape = (element: Element): element is SVGRectElement | SVGPathElement =>
  element instanceof SVGRectElement || element instanceof SVGPathElement

const drawElement = (context: Context, element: Element): void => {
  if (element.matches(leftOut)) return
  const style = getComputedStyle(element)
  if (style.display === "none" || style.visibility !== "visible") return
  if (isShape(element)) drawShape(context, element, style)
  else if (element instanceof SVGTextElement) drawLabel(context, element, style)
  else {
    drawGround(context, element, style)
    for (const node of element.childNodes) {
      if (node instanceof Element) drawElement(context, node)
      else if (node instanceof Text && element instanceof HTMLElement) drawText(context, node, style)
    }
  }
}

const hasText = (element: Element): boolean =>
  [...element.childNodes].some((node) => node instanceof Text && node.data.trim() !== "")

/** The bounding box of everything drawn, including scrolled content. */
const areaOf = (element: Element) => {
  const boxes = [element, ...element.querySelectorAll("*")]
    .filter((one) => one instanceof SVGSVGElement || (one instanceof HTMLElement && hasText(one)))
    .filter((one) => one.closest(leftOut) === null)
    .map((one) => one.getBoundingClientRect())
    .filter(({ height, width }) => height > 0 && width > 0)
  return {
    left: Math.min(...boxes.map(({ left }) => left)),
    top: Math.min(...boxes.map(({ top }) => top)),
    right: Math.max(...boxes.map(({ right }) => right)),
    bottom: Math.max(...boxes.map(({ bottom }) => bottom))
  }
}

export const drawElements = (element: Element | null, title: string): HTMLCanvasElement | null => {
  if (element === null) return null
  const { bottom, left, right, top } = areaOf(element)
  const [width, height] = [right - left + 2 * room, bottom - top + head + 2 * room]
  const scale = Math.min(2, maxPixels / Math.max(width, height))
  const canvas = document.createElement("canvas")
  canvas.width = width * scale
  canvas.height = height * scale
  // The context only fails after a request for another kind.
  const context = canvas.getContext("2d")!
  const colors = colorsOf()
  context.scale(scale, scale)
  context.fillStyle = colors.surface
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.textBaseline = "middle"
  context.font = `600 ${size}px ${getComputedStyle(document.body).fontFamily}`
  context.fillStyle = colors.text
  context.fillText(title, room, room / 2 + head / 2)
  context.translate(room - left, room / 2 + head - top)
  drawElement(context, element)
  return canvas
}
