/**
 * Generates scenes of simple shapes, and questions about them: number, colour, position. Modelled on CLEVR (Johnson et
 * al. 2017, arXiv:1612.06890), in two dimensions.
 *
 * Pure: a seeded draw determines the scene, its SVG, a question and its answer. A question about "the" shape is asked
 * only if there is exactly one; the answers of each kind of question are balanced.
 */
import type { SeededRandom } from "@atropos/core"
import type { Outline } from "./Regions.ts"

export const shapes = ["circle", "square", "triangle", "star"] as const
export const colours = ["red", "green", "blue", "yellow", "purple", "black"] as const
export type Shape = (typeof shapes)[number]
export type Colour = (typeof colours)[number]

export interface Thing {
  readonly shape: Shape
  readonly colour: Colour
  /** Cell of a grid, from the top left. */
  readonly column: number
  readonly row: number
}

export type Kind = "count" | "colour" | "relation"

export interface Scene {
  readonly things: ReadonlyArray<Thing>
  readonly kind: Kind
  readonly question: string
  readonly answer: string
}

const cells = 4
const cellPixels = 64
export const sidePixels = cells * cellPixels

/** Things in distinct cells. */
export const place = (random: SeededRandom.SeededRandom, count: number): ReadonlyArray<Thing> =>
  random
    .sample(
      Array.from({ length: cells * cells }, (_, cell) => cell),
      count
    )
    .map((cell) => ({
      shape: random.pick(shapes),
      colour: random.pick(colours),
      column: cell % cells,
      row: Math.floor(cell / cells)
    }))

const nameOf = ({ colour, shape }: Pick<Thing, "colour" | "shape">): string => `${colour} ${shape}`

/** Things whose colour and shape together are unique. */
const unique = (things: ReadonlyArray<Thing>): ReadonlyArray<Thing> =>
  things.filter((thing) => things.filter((other) => nameOf(other) === nameOf(thing)).length === 1)

const relations = [
  { words: "to the left of", holds: (a: Thing, b: Thing) => a.column < b.column },
  { words: "to the right of", holds: (a: Thing, b: Thing) => a.column > b.column },
  { words: "above", holds: (a: Thing, b: Thing) => a.row < b.row },
  { words: "below", holds: (a: Thing, b: Thing) => a.row > b.row }
] as const

type Asked = Pick<Scene, "question" | "answer">

const ask: {
  readonly [K in Kind]: (random: SeededRandom.SeededRandom, things: ReadonlyArray<Thing>) => Asked | undefined
} = {
  count: (random, things) => {
    const shape = random.pick(shapes)
    const colour = random.chance(0.5) ? random.pick(colours) : undefined
    const counted = things.filter((thing) => thing.shape === shape && (colour === undefined || thing.colour === colour))
    return {
      question: `How many ${colour === undefined ? "" : `${colour} `}${shape}s are there? Answer with a number.`,
      answer: String(counted.length)
    }
  },
  colour: (random, things) => {
    const single = things.filter((thing) => things.filter(({ shape }) => shape === thing.shape).length === 1)
    if (single.length === 0) return undefined
    const { colour, shape } = random.pick(single)
    return { question: `What colour is the ${shape}? Answer with one of ${colours.join(", ")}.`, answer: colour }
  },
  relation: (random, things) => {
    const [one, other] = random.sample(unique(things), 2)
    if (one === undefined || other === undefined) return undefined
    const expected = random.chance(0.5)
    const relation = random.shuffle(relations).find(({ holds }) => holds(one, other) === expected)!
    return {
      question: `Is the ${nameOf(one)} ${relation.words} the ${nameOf(other)}? Answer yes or no.`,
      answer: expected ? "yes" : "no"
    }
  }
}

/** A scene of three to `max` things (at most 16) and a question of one of these kinds. */
export const draw = (random: SeededRandom.SeededRandom, kinds: ReadonlyArray<Kind>, max: number): Scene => {
  const kind = random.pick(kinds)
  // Nearly every scene fits its kind of question; others are redrawn.
  for (;;) {
    const things = place(random, random.between(3, max))
    const question = ask[kind](random, things)
    if (question !== undefined) return { things, kind, ...question }
  }
}

const paint: { readonly [C in Colour]: string } = {
  red: "#d62728",
  green: "#2ca02c",
  blue: "#1f5fd0",
  yellow: "#f2c80f",
  purple: "#8e44ad",
  black: "#111111"
}

const corners = (x: number, y: number, radii: ReadonlyArray<number>): Outline => ({
  kind: "polygon",
  corners: radii.map((radius, index) => {
    const angle = (2 * Math.PI * index) / radii.length - Math.PI / 2
    return { x: x + radius * Math.cos(angle), y: y + radius * Math.sin(angle) }
  })
})

/** The outline of a thing, in pixels. */
export const regionOf = ({ column, row, shape }: Pick<Thing, "column" | "row" | "shape">): Outline => {
  const x = (column + 0.5) * cellPixels
  const y = (row + 0.5) * cellPixels
  switch (shape) {
    case "circle":
      return { kind: "circle", centre: { x, y }, radius: 24 }
    case "square":
      return { kind: "box", from: { x: x - 22, y: y - 22 }, to: { x: x + 22, y: y + 22 } }
    case "triangle":
      return corners(x, y + 4, [28, 28, 28])
    case "star":
      return corners(x, y, [28, 11, 28, 11, 28, 11, 28, 11, 28, 11])
  }
}

const outline = (thing: Thing): string => {
  const region = regionOf(thing)
  const fill = `fill="${paint[thing.colour]}"`
  switch (region.kind) {
    case "circle":
      return `<circle cx="${region.centre.x}" cy="${region.centre.y}" r="${region.radius}" ${fill}/>`
    case "box": {
      const { from, to } = region
      return `<rect x="${from.x}" y="${from.y}" width="${to.x - from.x}" height="${to.y - from.y}" ${fill}/>`
    }
    case "polygon":
      return `<polygon points="${region.corners.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ")}" ${fill}/>`
  }
}

export const toSvg = ({ things }: Pick<Scene, "things">): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${sidePixels}" height="${sidePixels}"><rect width="100%" height="100%" fill="#f4f1ea"/>${things.map(outline).join("")}</svg>`
