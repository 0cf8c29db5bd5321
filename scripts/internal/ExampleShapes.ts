/** Draws the structure of some examples: boxes and arrows, each from a few lines. */
import * as Svg from "./ExampleSvg.ts"
import { escaped } from "./ExampleSvg.ts"

type Place = readonly [column: number, row: number]

interface Figure {
  readonly file: string
  readonly title: string
  readonly boxes: { readonly [text: string]: Place }
  /** From one box to another, with an optional label. */
  readonly arrows: ReadonlyArray<readonly [from: string, to: string, word?: string]>
}

export const shapes: ReadonlyArray<Figure> = [
  {
    file: "whole-loop",
    title: "The loop of 00-the-whole-loop.ts",
    boxes: {
      prompt: [0, 0],
      "a group of answers": [1, 0],
      scores: [2, 0],
      advantages: [2, 1],
      "loss, gradient": [1, 1],
      "new weights": [0, 1]
    },
    arrows: [
      ["prompt", "a group of answers", "sample"],
      ["a group of answers", "scores", "judge"],
      ["scores", "advantages", "compare"],
      ["advantages", "loss, gradient"],
      ["loss, gradient", "new weights", "update"],
      ["new weights", "prompt", "next step"]
    ]
  },
  {
    file: "follow-up",
    title: "Items of 13-follow-up-items.ts",
    boxes: { item: [0, 0], "group of answers": [1, 0], trainer: [2, 0], "next item": [1, 1] },
    arrows: [
      ["item", "group of answers"],
      ["group of answers", "trainer"],
      ["group of answers", "next item", "follows from it"],
      ["next item", "item", "by the queue"]
    ]
  },
  {
    file: "self-play",
    title: "Both seats of 18-self-play.ts",
    boxes: { "seat 0": [0, 0], game: [1, 0], "seat 1": [2, 0], "one policy": [1, 1] },
    arrows: [
      ["seat 0", "game", "acts"],
      ["seat 1", "game", "acts"],
      ["seat 0", "one policy", "what it won"],
      ["seat 1", "one policy", "what it won"]
    ]
  }
]

const [width, height, gapX, gapY, margin] = [150, 44, 90, 50, 16] as const

const centre = ([column, row]: Place) => ({
  x: margin + column * (width + gapX) + width / 2,
  y: margin + row * (height + gapY) + height / 2
})

/** The point where the line from `from` to `to` leaves the box of `from`. */
const edge = (from: Place, to: Place) => {
  const [a, b] = [centre(from), centre(to)]
  const [dx, dy] = [b.x - a.x, b.y - a.y]
  const share = Math.min(dx === 0 ? 1 : width / 2 / Math.abs(dx), dy === 0 ? 1 : height / 2 / Math.abs(dy))
  return { x: a.x + dx * share, y: a.y + dy * share }
}

export const draw = ({ arrows, boxes, title }: Figure): string => {
  const places = Object.values(boxes)
  const columns = Math.max(...places.map(([column]) => column)) + 1
  const rows = Math.max(...places.map(([, row]) => row)) + 1
  const [w, h] = [2 * margin + columns * (width + gapX) - gapX, 2 * margin + rows * (height + gapY) - gapY]
  const lines = arrows.map(([from, to, word]) => {
    const [a, b] = [edge(boxes[from]!, boxes[to]!), edge(boxes[to]!, boxes[from]!)]
    const path = `<line x1="${a.x.toFixed(1)}" y1="${a.y.toFixed(1)}" x2="${b.x.toFixed(1)}" y2="${b.y.toFixed(1)}" marker-end="url(#tip)"/>`
    const isUpright = Math.abs(a.x - b.x) < 1
    const at = { x: (a.x + b.x) / 2 + (isUpright ? 6 : 0), y: (a.y + b.y) / 2 + (isUpright ? 4 : -6) }
    return word === undefined
      ? path
      : `${path}<text class="word" x="${at.x.toFixed(1)}" y="${at.y.toFixed(1)}" text-anchor="${isUpright ? "start" : "middle"}">${escaped(word)}</text>`
  })
  const rectangles = Object.entries(boxes).map(([text, place]) => {
    const { x, y } = centre(place)
    return `<rect x="${x - width / 2}" y="${y - height / 2}" width="${width}" height="${height}" rx="7"/><text x="${x}" y="${y + 5}" text-anchor="middle">${escaped(text)}</text>`
  })
  const markup = `<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z" fill="#566072"/></marker></defs>
${lines.join("\n")}
${rectangles.join("\n")}`
  return Svg.document({ width: w, height: h, title, markup })
}
