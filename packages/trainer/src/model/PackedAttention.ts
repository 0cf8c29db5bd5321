/** Attention for training: causal, over rows that may hold several sequences one after the other. */
import type { Dim } from "../graph/Dim.ts"
import type { Graph } from "../graph/Graph.ts"
import type { Value } from "../graph/Value.ts"
import type { Attention } from "./Decoder.ts"

/** Swallows any score, and stays finite in sums. */
const masked = -1e30

/**
 * softmax(Q Kᵀ / sqrt(D)) V, where a token sees those of its own segment that are not after it. `segmentIds` and
 * `positionIds` are int32 [B, T]; positions restart with every segment.
 */
export const make = (graph: Graph, segmentIds: Value, positionIds: Value): Attention => {
  const [rows, width] = segmentIds.shape as [Dim, Dim]
  const asQuery = (ids: Value) => graph.reshape(ids, [rows, 1, 1, width, 1])
  const asKey = (ids: Value) => graph.reshape(ids, [rows, 1, 1, 1, width])
  const isVisible = graph.and(
    graph.equal(asQuery(segmentIds), asKey(segmentIds)),
    graph.lessEq(asKey(positionIds), asQuery(positionIds))
  )
  const bias = graph.where(isVisible, graph.scalar(0), graph.scalar(masked))
  return (_layer, queries, keys, values) => {
    const [, heads, , size] = queries.shape as [Dim, number, Dim, number]
    const kvHeads = keys.shape[1] as number
    const perKv = heads / kvHeads
    // The queries that share keys are stacked, so that no key is repeated.
    const stacked = [rows, kvHeads, graph.dimMul(perKv, width)]
    const grouped = graph.reshape(graph.scale(queries, size ** -0.5), [...stacked, size])
    const scores = graph.matmul(grouped, graph.transpose(keys, [0, 1, 3, 2]))
    const visible = graph.add(graph.reshape(scores, [rows, kvHeads, perKv, width, width]), bias)
    const weights = graph.reshape(graph.softmax(visible), [...stacked, width])
    return graph.reshape(graph.matmul(weights, values), [rows, heads, width, size])
  }
}
