/** Rotary position embeddings (Su et al. 2021, 2104.09864), in Hugging Face's form: the two halves of a head are rotated together. */
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
 * Looked up in tables of the first `maxPositions` positions, made in double precision: sines on a GPU are good to three digits only.
 * `positionIds` int32 [B, T].
 */
export const angles = (graph: Graph, config: ModelConfig, positionIds: Value): Angles => {
  const { headDim, maxPositions } = config
  const [rows, width] = positionIds.shape as [Dim, Dim]
  const each = frequencies(config)
  const table = (name: string, f: (radians: number) => number): Value => {
    const values = new (graph.real === "float64" ? Float64Array : Float32Array)(maxPositions * headDim)
    for (let at = 0; at < values.length; at++) {
      values[at] = f(Math.floor(at / headDim) * each[(at % headDim) % (headDim / 2)]!)
    }
    const found = graph.gather(graph.initializer(name, graph.real, [maxPositions, headDim], values), positionIds)
    return graph.reshape(found, [rows, 1, width, headDim])
  }
  return { cos: table("rope.cos", Math.cos), sin: table("rope.sin", Math.sin) }
}

/** x cos + rotate_half(x) sin; x [B, heads, T, D]. */
export const rotate = (graph: Graph, x: Value, { cos, sin }: Angles): Value => {
  const [first, second] = graph.split(x, 3, 2)
  const turned = graph.concat([graph.neg(second!), first!], 3, x.shape[3])
  return graph.add(graph.mul(x, cos), graph.mul(turned, sin))
}
