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
import type { AttentionTraits } from "../model/Decoder.ts"
import * as Scores from "../model/part/Scores.ts"

/** What all layers of one window share: B rows with S past positions, T new ones. */
export interface Masks {
  /**
   * [B, 1, 1, 1, S]: 0 for a row's past, `Scores.masked` beyond it; with a window [B, 1, 1, T, S], and masked before
   * it too.
   */
  readonly past: Value
  /** [T, T]: 0 for what a new position sees of the new ones, `Scores.masked` elsewhere. */
  readonly causal: Value
}

/** `lengths` int32 [B] are the rows' past positions. */
export const masks = (graph: Graph, lengths: Value, past: Dim, width: Dim, window?: number): Masks => {
  const [rows] = lengths.shape
  const ends = graph.reshape(graph.cast(lengths, "int64"), [rows!, 1, 1, 1, 1])
  const columns = range(graph, width)
  const queries = graph.reshape(columns, [width, 1])
  const positions = range(graph, past)
  const isPast = graph.less(positions, ends)
  const isSeen =
    window === undefined
      ? isPast
      : graph.and(isPast, Scores.isVisible(graph, graph.add(queries, ends), positions, window))
  return {
    past: Scores.bias(graph, isSeen),
    causal: Scores.bias(graph, Scores.isVisible(graph, queries, columns, window))
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

/** [B, H, T, D] */
export const attend = (
  graph: Graph,
  operands: Operands,
  { causal, past }: Masks,
  { cap, scale, sinks }: Pick<AttentionTraits, "cap" | "scale" | "sinks">
): Value => {
  const { keys, pastKeys, pastValues, queries, values } = operands
  const [rows, heads, width, size] = queries.shape as [Dim, number, Dim, number]
  const kvHeads = keys.shape[1] as number
  const positions = pastKeys.shape[3]!
  const perKv = heads / kvHeads
  const stacked = graph.dimMul(perKv, width)
  const grouped = graph.reshape(graph.scale(queries, scale), [rows, kvHeads, stacked, size])
  /** Scores with their mask, [B, KV, perKv T, length]. */
  const visible = (keysAcross: Value, mask: Value, length: Dim) => {
    const scores = Scores.capped(graph, graph.matmul(grouped, keysAcross), cap)
    return graph.reshape(graph.add(graph.reshape(scores, [rows, kvHeads, perKv, width, length]), mask), scores.shape)
  }
  const pastScores = visible(pastKeys, past, positions)
  const newScores = visible(graph.transpose(keys, [0, 1, 3, 2]), causal, width)
  const scores = graph.concat([pastScores, newScores], 3)
  const seen = scores.shape[3]!
  const apart = sinks === undefined ? scores : graph.reshape(scores, [rows, kvHeads, perKv, width, seen])
  const weights = graph.reshape(Scores.weights(graph, apart, sinks), scores.shape)
  const [pastWeights, newWeights] = graph.split(weights, 3, [positions, width])
  const mixed = graph.add(graph.matmul(pastWeights!, pastValues), graph.matmul(newWeights!, values))
  return graph.reshape(mixed, [rows, heads, width, size])
}
