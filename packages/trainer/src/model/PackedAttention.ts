/** Attention for training: causal, over rows that may hold several consecutive sequences. */
import type { Dim } from "../graph/Dim.ts"
import type { Graph } from "../graph/Graph.ts"
import type { Value } from "../graph/Value.ts"
import type { Attention } from "./Decoder.ts"
import * as Scores from "./part/Scores.ts"

/**
 * softmax(k Q Kᵀ) V, where a token sees itself and earlier tokens of its own segment, within the window if any.
 * `segmentIds` and `positionIds` are int32 [B, T]; positions restart with every segment.
 */
export const make = (graph: Graph, segmentIds: Value, positionIds: Value): Attention => {
  const [rows, width] = segmentIds.shape as [Dim, Dim]
  const asQuery = (ids: Value) => graph.reshape(ids, [rows, 1, 1, width, 1])
  const asKey = (ids: Value) => graph.reshape(ids, [rows, 1, 1, 1, width])
  const isOwn = graph.equal(asQuery(segmentIds), asKey(segmentIds))
  const biasOf = Scores.byWindow((window) =>
    graph.outside(() =>
      Scores.bias(graph, graph.and(isOwn, Scores.isVisible(graph, asQuery(positionIds), asKey(positionIds), window)))
    )
  )
  return ({ cap, scale, sinks, window }, queries, keys, values) => {
    const [, heads, , size] = queries.shape as [Dim, number, Dim, number]
    const kvHeads = keys.shape[1] as number
    const perKv = heads / kvHeads
    // Queries that share keys are stacked, so that keys are not repeated.
    const stacked = [rows, kvHeads, graph.dimMul(perKv, width)]
    const grouped = graph.reshape(graph.scale(queries, scale), [...stacked, size])
    const scores = Scores.capped(graph, graph.matmul(grouped, graph.transpose(keys, [0, 1, 3, 2])), cap)
    const visible = graph.add(graph.reshape(scores, [rows, kvHeads, perKv, width, width]), biasOf(window))
    const weights = graph.reshape(Scores.weights(graph, visible, sinks), [...stacked, width])
    return graph.reshape(graph.matmul(weights, values), [rows, heads, width, size])
  }
}
