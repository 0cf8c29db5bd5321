/** Shapes of graph values: lists of sizes, outermost axis first; `[]` is a scalar. */
import type { Dim } from "./Dim.ts"

export type Shape = ReadonlyArray<Dim>

export const sameShape = (a: Shape, b: Shape): boolean =>
  a.length === b.length && a.every((dim, axis) => dim === b[axis])

/** The shape both broadcast to (aligned at the last axis, size 1 expands); undefined if they are incompatible. */
export const broadcast = (a: Shape, b: Shape): Shape | undefined => {
  const rank = Math.max(a.length, b.length)
  const dims: Array<Dim> = []
  for (let axis = 0; axis < rank; axis++) {
    const left = a[a.length - rank + axis] ?? 1
    const right = b[b.length - rank + axis] ?? 1
    if (left !== right && left !== 1 && right !== 1) return undefined
    dims.push(left === 1 ? right : left)
  }
  return dims
}

/** Axis counted from the front: -1 is the last. Undefined if out of range. */
export const axisOf = (shape: Shape, axis: number): number | undefined => {
  const index = axis < 0 ? axis + shape.length : axis
  return Number.isInteger(index) && index >= 0 && index < shape.length ? index : undefined
}

export const withDim = (shape: Shape, axis: number, dim: Dim): Shape =>
  shape.map((old, index) => (index === axis ? dim : old))

export const showShape = (shape: Shape): string => `[${shape.join(", ")}]`
