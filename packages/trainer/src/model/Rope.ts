/**
 * Rotary position embeddings (Su et al. 2021, 2104.09864), in Hugging Face's form: the two halves of a head are rotated
 * together.
 */
import type { Dim } from "../graph/Dim.ts"
import type { Graph } from "../graph/Graph.ts"
import type { Value } from "../graph/Value.ts"
import type { ModelConfig } from "./ModelConfig.ts"

/** Radians per position, D / 2 of them: theta^(-2i/D), divided or stretched where the configuration says so. */
export const frequencies = ({
  headDim,
  ropeScaling,
  ropeTheta
}: Pick<ModelConfig, "headDim" | "ropeScaling" | "ropeTheta">): Float64Array =>
  Float64Array.from({ length: headDim / 2 }, (_, i) => {
    const frequency = ropeTheta ** ((-2 * i) / headDim)
    if (ropeScaling === undefined) return frequency
    if (ropeScaling.kind === "linear") return frequency / ropeScaling.factor
    const { factor, highFrequencyFactor, lowFrequencyFactor, originalMaxPositions } = ropeScaling
    const turns = (originalMaxPositions * frequency) / (2 * Math.PI)
    if (turns < lowFrequencyFactor) return frequency / factor
    if (turns > highFrequencyFactor) return frequency
    const smooth = (turns - lowFrequencyFactor) / (highFrequencyFactor - lowFrequencyFactor)
    return ((1 - smooth) * frequency) / factor + smooth * frequency
  })

/** Cosines and sines of the positions, [B, 1, T, D]. */
export interface Angles {
  readonly cos: Value
  readonly sin: Value
}

/**
 * Rows of a table: longer contexts put an angle together from two, so that no graph carries a hundred megabytes of
 * cosines.
 */
const tableRows = 4096

/**
 * Looked up in tables made in double precision: sines on a GPU are good to three digits only. Position p = m n + i
 * beyond the first n = 4096 is the sum of two angles: cos(a + b) = cos a cos b - sin a sin b. `positionIds` int32 [B,
 * T].
 */
export const angles = (
  graph: Graph,
  config: Pick<ModelConfig, "headDim" | "maxPositions" | "ropeScaling" | "ropeTheta">,
  positionIds: Value
): Angles => {
  const { headDim, maxPositions } = config
  const [rows, width] = positionIds.shape as [Dim, Dim]
  const each = frequencies(config)
  /** Angles of `ids` times `step`, of which there are `count`. */
  const lookUp = (name: string, ids: Value, count: number, step: number): Angles => {
    const table = (part: string, f: (radians: number) => number): Value => {
      const values = new (graph.real === "float64" ? Float64Array : Float32Array)(count * headDim)
      for (let row = 0; row < count; row++) {
        const at = row * headDim
        for (const [i, frequency] of each.entries()) values[at + i] = f(step * row * frequency)
        values.copyWithin(at + headDim / 2, at, at + headDim / 2)
      }
      const initializer = graph.initializer(`rope.${name}.${part}`, graph.real, [count, headDim], values)
      return graph.reshape(graph.gather(initializer, ids), [rows, 1, width, headDim])
    }
    return { cos: table("cos", Math.cos), sin: table("sin", Math.sin) }
  }
  if (maxPositions <= tableRows) return lookUp("near", positionIds, maxPositions, 1)
  const size = graph.scalar(tableRows, "int32")
  const blocks = graph.div(positionIds, size)
  const near = lookUp("near", graph.sub(positionIds, graph.mul(blocks, size)), tableRows, 1)
  const far = lookUp("far", blocks, Math.ceil(maxPositions / tableRows), tableRows)
  return {
    cos: graph.sub(graph.mul(far.cos, near.cos), graph.mul(far.sin, near.sin)),
    sin: graph.add(graph.mul(far.sin, near.cos), graph.mul(far.cos, near.sin))
  }
}

/** x cos + rotate_half(x) sin; x [B, heads, T, D]. */
export const rotate = (graph: Graph, x: Value, { cos, sin }: Angles): Value => {
  const [first, second] = graph.split(x, 3, 2)
  const turned = graph.concat([graph.neg(second!), first!], 3, x.shape[3])
  return graph.add(graph.mul(x, cos), graph.mul(turned, sin))
}
