/**
 * Computes the contribution of a low-rank adapter to a linear layer and to the embedding (see `Lora` for its
 * parameters).
 */
import type { Graph } from "../../graph/Graph.ts"
import type { Value } from "../../graph/Value.ts"

/** Adapter of a linear layer: scale · B (A x). */
export interface LowRank {
  /** [r, in] */
  readonly a: Value
  /** [out, r] */
  readonly b: Value
  readonly scale: number
  /** [out], the row magnitudes of DoRA. */
  readonly magnitude?: Value | undefined
}

export interface Layer {
  /** (N, in) */
  readonly x: Value
  /** [out, in] */
  readonly weight: () => Value
  /** Rows (n, in) times the layer's weight, (n, out). */
  readonly product: (rows: Value) => Value
}

/**
 * ‖W + s B A‖ of each row, (1, out): the root of ‖W‖² + 2 s B·(W Aᵀ) + s² B·(B A Aᵀ), so that no matrix of W's size is
 * created; ‖W‖² is a constant of the graph.
 */
const lengths = (graph: Graph, { a, b, scale }: LowRank, { product, weight }: Layer): Value => {
  const w = weight()
  const own = graph.sum(graph.mul(w, w), [-1])
  const shared = graph.mul(b, graph.transpose(product(a), [1, 0]))
  const low = graph.mul(b, graph.gemm(b, graph.gemm(a, a, false, true)))
  const both = graph.add(graph.scale(graph.sum(shared, [-1]), 2 * scale), graph.scale(graph.sum(low, [-1]), scale ** 2))
  return graph.reshape(graph.sqrt(graph.add(own, both)), [1, own.shape[0]!])
}

/** Adds the adapter to y (N, out), the layer's product without bias. */
export const add = (graph: Graph, y: Value, adapter: LowRank | undefined, layer: Layer): Value => {
  if (adapter === undefined) return y
  const { a, b, magnitude, scale } = adapter
  const low = graph.scale(graph.gemm(layer.x, a, false, true), scale)
  const sum = graph.add(y, graph.gemm(low, b, false, true))
  if (magnitude === undefined) return sum
  const stretch = graph.div(
    graph.reshape(magnitude, [1, magnitude.shape[0]!]),
    graph.stopGradient(lengths(graph, adapter, layer))
  )
  return graph.mul(sum, stretch)
}

/** Rows of the embedding (V, H) at ids [B, T], plus those of its adapter: A [r, V], B [H, r]. */
export const embed = (graph: Graph, embedding: Value, ids: Value, adapter: LowRank | undefined): Value => {
  const rows = graph.gather(embedding, ids)
  if (adapter === undefined) return rows
  const low = graph.gather(graph.transpose(adapter.a, [1, 0]), ids)
  return graph.add(rows, graph.scale(graph.matmul(low, graph.transpose(adapter.b, [1, 0])), adapter.scale))
}
