/**
 * Regions of things in a picture. A point is given as fractions of the picture's width and height, from 0 to 1, from
 * the top left; everything else in pixels.
 */
export interface Point {
  readonly x: number
  readonly y: number
}

export interface Size {
  readonly width: number
  readonly height: number
}

export type Outline =
  | { readonly kind: "circle"; readonly centre: Point; readonly radius: number }
  | { readonly kind: "box"; readonly from: Point; readonly to: Point }
  | { readonly kind: "polygon"; readonly corners: ReadonlyArray<Point> }

export type Region =
  | Outline
  /** Rows from the top, of the whole picture, in any resolution. */
  | { readonly kind: "mask"; readonly rows: ReadonlyArray<ReadonlyArray<boolean>> }

/** True if a ray to the right crosses the outline an odd number of times. */
const isWithin = (corners: ReadonlyArray<Point>, { x, y }: Point): boolean => {
  let isInside = false
  for (const [index, a] of corners.entries()) {
    const b = corners[(index + 1) % corners.length]!
    if (a.y > y !== b.y > y && x < a.x + ((y - a.y) / (b.y - a.y)) * (b.x - a.x)) isInside = !isInside
  }
  return isInside
}

/** True if a point of a picture lies in a region, including its edge. */
export const holds = (region: Region, point: Point, { height, width }: Size): boolean => {
  const [x, y] = [point.x * width, point.y * height]
  switch (region.kind) {
    case "circle":
      return Math.hypot(x - region.centre.x, y - region.centre.y) <= region.radius
    case "box":
      return x >= region.from.x && x <= region.to.x && y >= region.from.y && y <= region.to.y
    case "polygon":
      return isWithin(region.corners, { x, y })
    case "mask": {
      const { rows } = region
      const row = rows[Math.min(rows.length - 1, Math.floor(point.y * rows.length))]
      return row?.[Math.min(row.length - 1, Math.floor(point.x * row.length))] === true
    }
  }
}

/** A point of a region, as fractions of the picture. */
export const someIn = (region: Region, { height, width }: Size): Point => {
  const part = ({ x, y }: Point): Point => ({ x: x / width, y: y / height })
  switch (region.kind) {
    case "circle":
      return part(region.centre)
    case "box":
      return part({ x: (region.from.x + region.to.x) / 2, y: (region.from.y + region.to.y) / 2 })
    case "polygon": {
      const sum = region.corners.reduce((a, b) => ({ x: a.x + b.x, y: a.y + b.y }))
      return part({ x: sum.x / region.corners.length, y: sum.y / region.corners.length })
    }
    case "mask": {
      const marked = region.rows.flatMap((row, y) =>
        row.flatMap((is, x) => (is ? [{ x: (x + 0.5) / row.length, y: (y + 0.5) / region.rows.length }] : []))
      )
      return marked[Math.floor(marked.length / 2)]!
    }
  }
}

/**
 * The maximum number of regions that can be paired with distinct points inside them (augmenting paths), independent of
 * either order.
 */
export const hits = (regions: ReadonlyArray<Region>, points: ReadonlyArray<Point>, size: Size): number => {
  const reach = regions.map((region) => points.flatMap((point, at) => (holds(region, point, size) ? [at] : [])))
  const takenBy = new Map<number, number>()
  const place = (region: number, tried: Set<number>): boolean =>
    reach[region]!.some((at) => {
      if (tried.has(at)) return false
      tried.add(at)
      const other = takenBy.get(at)
      if (other !== undefined && !place(other, tried)) return false
      takenBy.set(at, region)
      return true
    })
  return regions.filter((_, region) => place(region, new Set())).length
}
