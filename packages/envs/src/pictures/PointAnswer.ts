/**
 * Parses the points of an answer, in percent of the picture's width and height, in the formats that models use: `<point
 * x="10.5" y="20">…</point>`, `<points x1="10.5" y1="20" x2="40" y2="60">…</points>` (Molmo), or in the `<answer>` tag
 * as JSON, `[{"x": 10.5, "y": 20}]` or `[[10.5, 20]]`. `<point>none</point>`, `<points></points>` and `[]` mean that
 * there are none.
 */
import * as Thinking from "../kit/Thinking.ts"
import { Option, Schema } from "effect"
import type { Point } from "./Regions.ts"

/** More points make an answer invalid. */
const max = 200

const Coordinates = Schema.Array(
  Schema.Union([Schema.Struct({ x: Schema.Finite, y: Schema.Finite }), Schema.Tuple([Schema.Finite, Schema.Finite])])
)
const decode = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Union([Coordinates, Schema.Struct({ points: Coordinates })]))
)

const asPart = (x: number, y: number): Point => ({ x: x / 100, y: y / 100 })

const ofJson = (text: string): ReadonlyArray<Point> | undefined =>
  Option.getOrUndefined(
    Option.map(decode(text), (read) =>
      ("points" in read ? read.points : read).map((one) => ("x" in one ? asPart(one.x, one.y) : asPart(one[0], one[1])))
    )
  )

/** The attributes of a tag: `x` and `y`, or `x1`, `y1` and so on, each once and in pairs. */
const ofTag = (attributes: string): ReadonlyArray<Point> | undefined => {
  const [xs, ys] = [new Map<string, number>(), new Map<string, number>()]
  for (const [, axis, number = "", value] of attributes.matchAll(
    /(?<![\w-])([xy])(\d{0,3})\s{0,9}=\s{0,9}["']\s{0,9}(-?\d{1,9}(?:\.\d{0,20})?)\s{0,9}["']/g
  )) {
    const values = axis === "x" ? xs : ys
    if (values.has(number)) return undefined
    values.set(number, Number(value))
  }
  if (xs.size !== ys.size || Array.from(xs.keys()).some((number) => !ys.has(number))) return undefined
  return Array.from(xs, ([number, x]) => asPart(x, ys.get(number)!))
}

/** The tags of a text, each from its name to its end. */
const tagsOf = (text: string): ReadonlyArray<string> => {
  const tags: Array<string> = []
  for (let from = text.indexOf("<point"); from !== -1; from = text.indexOf("<point", from + 1)) {
    const end = text.indexOf(">", from)
    if (end === -1) break
    tags.push(text.slice(from + "<point".length, end))
  }
  return tags
}

/** The points of a completion; undefined if it neither gives points nor states that none exist. */
export const of = (completion: string): ReadonlyArray<Point> | undefined => {
  const tags = tagsOf(Thinking.visibleText(completion))
  if (tags.length === 0) {
    const reply = Thinking.taggedAnswer(completion)
    const points = reply === undefined ? undefined : ofJson(reply)
    return points !== undefined && points.length <= max ? points : undefined
  }
  const read = tags.map(ofTag)
  const points = read.flatMap((one) => one ?? [])
  // An empty tag next to one with points is ambiguous.
  const isEmpty = tags.length === 1 && /^s?\s*$/.test(tags[0]!)
  if (read.includes(undefined) || points.length > max || (!isEmpty && read.some((one) => one?.length === 0)))
    return undefined
  return points
}

export const written = (points: ReadonlyArray<Point>, label: string): string =>
  points.length === 0
    ? "<point>none</point>"
    : points
        .map(({ x, y }) => `<point x="${(x * 100).toFixed(4)}" y="${(y * 100).toFixed(4)}">${label}</point>`)
        .join(" ")
