/**
 * Things in a picture to point at or to count: in a scene generated from a seed, or in a row.
 *
 * Rows are in the layouts of allenai/pixmo-points and allenai/pixmo-count: a picture, a `label`, `points` (a list of `{
 * x, y }`, or `{ x: [...], y: [...] }`), and `count`; also `boxes` (lists of left, top, right, bottom, in the same
 * units) and `masks` (lists of rows of 0 and 1, for the whole picture). Masks take precedence over boxes, and boxes
 * over points.
 */
import type { SeededRandom } from "@atropos/core"
import { Option, Result, Schema } from "effect"
import type { Point, Region, Size } from "./Regions.ts"
import * as SceneItems from "./SceneItems.ts"

export type Kind = "point" | "count"

export type Units = "pixels" | "percent" | "fraction"

export type Places =
  | { readonly kind: "points"; readonly points: ReadonlyArray<Point> }
  | { readonly kind: "boxes"; readonly boxes: ReadonlyArray<readonly [number, number, number, number]> }
  | { readonly kind: "masks"; readonly masks: ReadonlyArray<ReadonlyArray<ReadonlyArray<boolean>>> }

export interface Drawn {
  readonly _tag: "Drawn"
  readonly kind: Kind
  readonly label: string
  readonly things: ReadonlyArray<SceneItems.Thing>
  readonly targets: ReadonlyArray<SceneItems.Thing>
}

export interface Row {
  readonly _tag: "Row"
  readonly kind: Kind
  readonly label: string
  readonly image: Uint8Array
  readonly places?: Places
  readonly count: number
  /** Size of the decoded picture; absent for a rejected one. */
  readonly size?: Size
}

export type Item = Drawn | Row

const plural = (label: string): string => (/(?:s|x|ch|sh)$/.test(label) ? label : `${label}s`)

/**
 * A scene, and the things in it to find; in one of ten scenes their name is drawn independently, so that there may be
 * none.
 */
export const draw = (random: SeededRandom.SeededRandom, kinds: ReadonlyArray<Kind>, max: number): Drawn => {
  const things = SceneItems.place(random, random.between(3, max))
  const isThere = random.chance(0.9)
  const one = random.pick(things)
  const shape = isThere ? one.shape : random.pick(SceneItems.shapes)
  const colour = random.chance(0.5) ? (isThere ? one.colour : random.pick(SceneItems.colours)) : undefined
  return {
    _tag: "Drawn",
    kind: random.pick(kinds),
    label: colour === undefined ? shape : `${colour} ${shape}`,
    things,
    targets: things.filter((thing) => thing.shape === shape && (colour === undefined || thing.colour === colour))
  }
}

const Listed = Schema.Array(Schema.Struct({ x: Schema.Finite, y: Schema.Finite }))
const Columnwise = Schema.Struct({ x: Schema.Array(Schema.Finite), y: Schema.Array(Schema.Finite) })
const Boxes = Schema.Array(Schema.Tuple([Schema.Finite, Schema.Finite, Schema.Finite, Schema.Finite]))
const Masks = Schema.Array(
  Schema.NonEmptyArray(Schema.NonEmptyArray(Schema.Union([Schema.Boolean, Schema.Literals([0, 1])])))
)
const decodePoints = Schema.decodeUnknownOption(Schema.Union([Listed, Columnwise]))
const decodeBoxes = Schema.decodeUnknownOption(Boxes)
const decodeMasks = Schema.decodeUnknownOption(Masks)
const decodeJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))

/** The list of a column; CSV and some rows hold lists as JSON. */
const listOf = (value: unknown): unknown =>
  typeof value === "string" ? Option.getOrUndefined(decodeJson(value)) : value

const pointsOf = (value: unknown): Result.Result<Places, string> =>
  Option.match(decodePoints(listOf(value)), {
    onNone: () => Result.fail("its points are neither a list of { x, y } nor { x: [...], y: [...] }, all numbers"),
    onSome: (read) => {
      if (!("x" in read)) return Result.succeed({ kind: "points", points: read })
      return read.x.length === read.y.length
        ? Result.succeed({ kind: "points", points: read.x.map((x, index) => ({ x, y: read.y[index]! })) })
        : Result.fail(`its points have ${read.x.length} x and ${read.y.length} y`)
    }
  })

const boxesOf = (value: unknown): Result.Result<Places, string> =>
  Option.match(decodeBoxes(listOf(value)), {
    onNone: () => Result.fail("its boxes are not lists of left, top, right and bottom"),
    onSome: (boxes) => {
      const odd = boxes.find(([left, top, right, bottom]) => left > right || top > bottom)
      return odd === undefined
        ? Result.succeed({ kind: "boxes", boxes })
        : Result.fail(`its box ${JSON.stringify(odd)} has its right before its left, or its bottom above its top`)
    }
  })

const masksOf = (value: unknown): Result.Result<Places, string> =>
  Option.match(decodeMasks(listOf(value)), {
    onNone: () => Result.fail("its masks are not lists of rows of 0 and 1"),
    onSome: (read) => {
      const masks = read.map((rows) => rows.map((row) => row.map(Boolean)))
      const empty = masks.findIndex((rows) => !rows.some((row) => row.includes(true)))
      return empty === -1
        ? Result.succeed({ kind: "masks", masks })
        : Result.fail(`its mask ${empty + 1} marks nothing`)
    }
  })

const placesOf = (columns: Columns): Result.Result<Places | undefined, string> => {
  if (columns.masks !== null) return masksOf(columns.masks)
  if (columns.boxes !== null) return boxesOf(columns.boxes)
  return columns.points === null ? Result.succeed(undefined) : pointsOf(columns.points)
}

const many = (places: Places): number =>
  places.kind === "points" ? places.points.length : places.kind === "boxes" ? places.boxes.length : places.masks.length

/** The columns of a row; null if a column is missing. */
export interface Columns {
  readonly image: Uint8Array
  readonly label: string
  readonly points: unknown
  readonly boxes: unknown
  readonly masks: unknown
  readonly count: unknown
}

/** The item of a row: a pointing item if locations are known and that kind is requested, else a counting item. */
export const ofRow = (columns: Columns, kinds: ReadonlyArray<Kind>, lot: number): Result.Result<Row, string> =>
  Result.flatMap(placesOf(columns), (places) => {
    const { image, label } = columns
    const stated = columns.count === null ? undefined : Number(columns.count)
    if (stated !== undefined && !(Number.isInteger(stated) && stated >= 0)) {
      return Result.fail(`its count is ${JSON.stringify(columns.count)}, and no whole number`)
    }
    const count = stated ?? (places === undefined ? undefined : many(places))
    if (count === undefined) return Result.fail("it has neither points, boxes, masks nor a count")
    const possible = kinds.filter((kind) => kind === "count" || places !== undefined)
    const kind = possible[lot % Math.max(1, possible.length)]
    if (kind === undefined) return Result.fail("it has a count alone, and kinds asks for points alone")
    return Result.succeed({ _tag: "Row", kind, label, image, count, ...(places !== undefined && { places }) })
  })

const sceneSize: Size = { width: SceneItems.sidePixels, height: SceneItems.sidePixels }

export const sizeOf = (item: Item): Size | undefined => (item._tag === "Drawn" ? sceneSize : item.size)

export const countOf = (item: Item): number => (item._tag === "Drawn" ? item.targets.length : item.count)

export const question = ({ kind, label }: Item): string =>
  kind === "count" ? `How many ${plural(label)} are there?` : `Point at every ${label} in the picture.`

/** The regions of the things; a point of a row becomes a circle of `tolerance` percent of the longer side. */
export const regionsOf = (
  item: Item,
  size: Size,
  { tolerance, units }: { readonly tolerance: number; readonly units: Units }
): ReadonlyArray<Region> => {
  if (item._tag === "Drawn") return item.targets.map(SceneItems.regionOf)
  const per = units === "pixels" ? undefined : units === "percent" ? 100 : 1
  const pixels = (x: number, y: number): Point =>
    per === undefined ? { x, y } : { x: (x / per) * size.width, y: (y / per) * size.height }
  const { places } = item
  switch (places?.kind) {
    case undefined:
      return []
    case "masks":
      return places.masks.map((rows) => ({ kind: "mask", rows }))
    case "boxes":
      return places.boxes.map(([left, top, right, bottom]) => ({
        kind: "box",
        from: pixels(left, top),
        to: pixels(right, bottom)
      }))
    case "points": {
      const radius = (tolerance / 100) * Math.max(size.width, size.height)
      return places.points.map(({ x, y }) => ({ kind: "circle", centre: pixels(x, y), radius }))
    }
  }
}
