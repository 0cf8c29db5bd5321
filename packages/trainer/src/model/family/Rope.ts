/**
 * Rotary position embeddings (Su et al. 2021, 2104.09864), in Hugging Face's form: the two halves of the rotated part
 * of a head are rotated together.
 */
import type { Dim } from "../../graph/Dim.ts"
import type { Graph } from "../../graph/Graph.ts"
import type { Value } from "../../graph/Value.ts"
import * as RopeScaling from "./RopeScaling.ts"
import type { QueryGrowth, Rope } from "./Traits.ts"

/** Cosines and sines of the positions, [B, 1, T, width]. */
export interface Angles {
  readonly cos: Value
  readonly sin: Value
}

/**
 * Rows of a table: longer contexts compose an angle from two, so that no graph contains a hundred megabytes of cosines.
 */
const tableRows = 4096

/**
 * Looks up angles in tables computed in double precision: sines on a GPU are only accurate to three digits. Position p
 * = m n + i beyond the first n = 4096 is the sum of two angles: cos(a + b) = cos a cos b - sin a sin b. `positionIds`
 * int32 [B, T]; `name` distinguishes several tables in one graph.
 */
export const angles = (graph: Graph, rope: Rope, maxPositions: number, positionIds: Value, name = "rope"): Angles => {
  const { width } = rope
  const [rows, length] = positionIds.shape as [Dim, Dim]
  const each = RopeScaling.frequencies(rope, maxPositions)
  const magnitude = RopeScaling.magnitude(rope)
  /** Angles of `ids` times `step`; `count` is the number of ids. */
  const lookUp = (part: string, ids: Value, count: number, step: number, by: number): Angles => {
    const table = (kind: string, f: (radians: number) => number): Value => {
      const values = new (graph.real === "float64" ? Float64Array : Float32Array)(count * width)
      for (let row = 0; row < count; row++) {
        const at = row * width
        for (const [i, frequency] of each.entries()) values[at + i] = by * f(step * row * frequency)
        values.copyWithin(at + width / 2, at, at + width / 2)
      }
      const initializer = graph.initializer(`${name}.${part}.${kind}`, graph.real, [count, width], values)
      return graph.reshape(graph.gather(initializer, ids), [rows, 1, length, width])
    }
    return { cos: table("cos", Math.cos), sin: table("sin", Math.sin) }
  }
  if (maxPositions <= tableRows) return lookUp("near", positionIds, maxPositions, 1, magnitude)
  const size = graph.scalar(tableRows, "int32")
  const blocks = graph.div(positionIds, size)
  const near = lookUp("near", graph.sub(positionIds, graph.mul(blocks, size)), tableRows, 1, 1)
  const far = lookUp("far", blocks, Math.ceil(maxPositions / tableRows), tableRows, magnitude)
  return {
    cos: graph.sub(graph.mul(far.cos, near.cos), graph.mul(far.sin, near.sin)),
    sin: graph.add(graph.mul(far.sin, near.cos), graph.mul(far.cos, near.sin))
  }
}

/** Factor on queries, [B, 1, T, 1]; undefined if no position is beyond the first `every`. */
export const growth = (
  graph: Graph,
  { by, every }: QueryGrowth,
  maxPositions: number,
  positionIds: Value
): Value | undefined => {
  if (maxPositions <= every) return undefined
  const [rows, length] = positionIds.shape as [Dim, Dim]
  const count = Math.ceil(maxPositions / every)
  const values = Array.from({ length: count }, (_, at) => 1 + by * Math.log1p(at))
  const data = graph.real === "float64" ? Float64Array.from(values) : Float32Array.from(values)
  const table = graph.initializer("query.growth", graph.real, [count], data)
  const found = graph.gather(table, graph.div(positionIds, graph.scalar(every, "int32")))
  return graph.reshape(found, [rows, 1, length, 1])
}

/** x cos + rotate_half(x) sin of the first elements of x [B, heads, T, D]; the others are unchanged. */
export const rotate = (graph: Graph, x: Value, { cos, sin }: Angles): Value => {
  const size = x.shape[3] as number
  const width = cos.shape[3] as number
  const [turning, rest] = width === size ? [x] : graph.split(x, 3, [width, size - width])
  const [first, second] = graph.split(turning!, 3, 2)
  const turned = graph.concat([graph.neg(second!), first!], 3, width)
  const rotated = graph.add(graph.mul(turning!, cos), graph.mul(turned, sin))
  return rest === undefined ? rotated : graph.concat([rotated, rest], 3, size)
}
