/**
 * Attention of new positions to those of a cache and to each other.
 *
 * Scores against the cache and against the new positions are two products, joined for one softmax: the cache is read
 * where it lies and the new entries are handed out for it to append, so that nothing is copied. Each row sees its own
 * past only.
 */
import type { Dim } from "../graph/Dim.ts"
import type { Graph } from "../graph/Graph.ts"
import type { Value } from "../graph/Value.ts"

/** Swallows any score, and stays finite in sums. */
const masked = -1e30

/** What all layers share: B rows with S past positions, T new ones. */
export interface Masks {
  /** [B, 1, 1, S]: 0 for a row's past, `masked` beyond it. */
  readonly past: Value
  /** [T, T]: 0 up to the own position, `masked` after it. */
  readonly causal: Value
}

/** `lengths` int32 [B] are the rows' past positions. */
export const masks = (graph: Graph, lengths: Value, past: Dim, width: Dim): Masks => {
  const [rows] = lengths.shape
  const below = (limit: Value, size: Dim) => graph.less(range(graph, size), limit)
  const bias = (visible: Value) => graph.where(visible, graph.scalar(0), graph.scalar(masked))
  return {
    past: bias(below(graph.reshape(graph.cast(lengths, "int64"), [rows!, 1, 1, 1]), past)),
    causal: bias(graph.not(graph.greater(range(graph, width), graph.reshape(range(graph, width), [width, 1]))))
  }
}

/** 0, 1, … as int64 [size]. */
const range = (graph: Graph, size: Dim): Value => {
  const end = graph.node("Squeeze", [graph.dim(size)], "int64", [])
  return graph.node("Range", [graph.scalar(0, "int64"), end, graph.scalar(1, "int64")], "int64", [size])
}

/**
 * Queries [B, H, T, D], keys and values [B, KV, T, D] of the new positions, of the past keys [B, KV, D, S], values [B,
 * KV, S, D].
 */
export interface Operands {
  readonly queries: Value
  readonly keys: Value
  readonly values: Value
  readonly pastKeys: Value
  readonly pastValues: Value
}

/** [B, H, T, D]; `scale` multiplies the scores. */
export const attend = (graph: Graph, operands: Operands, { causal, past }: Masks, scale: number): Value => {
  const { keys, pastKeys, pastValues, queries, values } = operands
  const [rows, heads, width, size] = queries.shape as [Dim, number, Dim, number]
  const kvHeads = keys.shape[1] as number
  const positions = pastKeys.shape[3]!
  const perKv = heads / kvHeads
  const stacked = graph.dimMul(perKv, width)
  const grouped = graph.reshape(graph.scale(queries, scale), [rows, kvHeads, stacked, size])
  const pastScores = graph.add(graph.matmul(grouped, pastKeys), past)
  const newScores = graph.matmul(grouped, graph.transpose(keys, [0, 1, 3, 2]))
  const square = [rows, kvHeads, perKv, width, width]
  const visible = graph.reshape(graph.add(graph.reshape(newScores, square), causal), newScores.shape)
  const weights = graph.softmax(graph.concat([pastScores, visible], 3))
  const [pastWeights, newWeights] = graph.split(weights, 3, [positions, width])
  const mixed = graph.add(graph.matmul(pastWeights!, pastValues), graph.matmul(newWeights!, values))
  return graph.reshape(mixed, [rows, heads, width, size])
}
