/**
 * Draws the figures of examples/README.md: boxes and arrows, each from a few lines below, as SVG that reads on light
 * and dark pages. `node scripts/make-example-figures.ts` writes them into examples/images.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

type Place = readonly [column: number, row: number]

interface Figure {
  readonly file: string
  readonly title: string
  readonly boxes: { readonly [text: string]: Place }
  /** From one box to another, with a word beside it. */
  readonly arrows: ReadonlyArray<readonly [from: string, to: string, word?: string]>
}

const figures: ReadonlyArray<Figure> = [
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
    file: "step-wise",
    title: "One turn of 10-step-wise.ts",
    boxes: { state: [0, 1], "move A": [1, 0], "move B": [1, 1], "move C": [1, 2], "the best goes on": [2, 1] },
    arrows: [
      ["state", "move A"],
      ["state", "move B"],
      ["state", "move C"],
      ["move A", "the best goes on", "0.2"],
      ["move B", "the best goes on", "0.9"],
      ["move C", "the best goes on", "0.4"]
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

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")

const centre = ([column, row]: Place) => ({
  x: margin + column * (width + gapX) + width / 2,
  y: margin + row * (height + gapY) + height / 2
})

/** Where the line from `from` to `to` leaves the box of `from`. */
const edge = (from: Place, to: Place) => {
  const [a, b] = [centre(from), centre(to)]
  const [dx, dy] = [b.x - a.x, b.y - a.y]
  const share = Math.min(dx === 0 ? 1 : width / 2 / Math.abs(dx), dy === 0 ? 1 : height / 2 / Math.abs(dy))
  return { x: a.x + dx * share, y: a.y + dy * share }
}

const draw = ({ arrows, boxes, title }: Figure): string => {
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
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="0 0 ${w} ${h}" role="img" aria-label="${escaped(title)}">
<title>${escaped(title)}</title>
<style>text{font:14px system-ui,sans-serif;fill:#1d2430}.word{font-size:12px;fill:#566072;paint-order:stroke;stroke:#fff;stroke-width:5px}
rect{fill:#eef3fa;stroke:#0b57b5}line{stroke:#566072;stroke-width:1.5}.back{fill:#fff;stroke:none}
@media(prefers-color-scheme:dark){text{fill:#dfe5ee}.word{fill:#9aa6b6;stroke:#12161d}line{stroke:#9aa6b6}rect{fill:#1f2a3a;stroke:#79b4ff}.back{fill:#12161d;stroke:none}}</style>
<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z" fill="#566072"/></marker></defs>
<rect class="back" width="${w}" height="${h}" rx="0"/>
${lines.join("\n")}
${rectangles.join("\n")}
</svg>
`
}

const folder = fileURLToPath(new URL("../examples/images/", import.meta.url))
mkdirSync(folder, { recursive: true })
for (const figure of figures) writeFileSync(`${folder}${figure.file}.svg`, draw(figure))
console.log(`${figures.length} figures in examples/images`)
