/**
 * Computes attention of new positions to a paged KV cache and to each other.
 *
 * The cache consists of pages of S positions (`KvCache`), each of one row, and is read in place: scores and weighted
 * values are computed per page, and summed over the pages of a row. Shapes and order of these sums depend only on the
 * row, so that its numbers do not depend on other rows. New entries are returned for the cache to append.
 */
import type { Dim } from "../../graph/Dim.ts"
import type { Graph } from "../../graph/Graph.ts"
import type { Value } from "../../graph/Value.ts"
import type { AttentionTraits } from "../../model/Decoder.ts"
import * as Scores from "../../model/part/Scores.ts"

export interface Pages {
  /** int32 [P]: the row of each page. */
  readonly rows: Value
  /** int32 [P]: the first position of each page. */
  readonly starts: Value
  /** int32 [B, M]: a row's pages in order; -1 after the last. */
  readonly ofRows: Value
}

/** Page assignment in the form shared by all layers. */
export interface Places {
  readonly rows: Value
  /** [B, M]: 0 after the last. */
  readonly ofRows: Value
  /** bool [B, M, 1, 1, 1]: true if the page exists. */
  readonly isPage: Value
  /** [B, 2, M]: 1 for each page, twice, because a matmul with one row would use another kernel. */
  readonly each: Value
}

export const places = (graph: Graph, { ofRows, rows }: Pick<Pages, "ofRows" | "rows">): Places => {
  const [count, max] = ofRows.shape as [Dim, Dim]
  const isPage = graph.greaterEq(ofRows, graph.scalar(0, "int32"))
  const ones = graph.reshape(graph.cast(isPage, graph.real), [count, 1, max])
  return {
    rows,
    ofRows: graph.max(ofRows, graph.scalar(0, "int32")),
    isPage: graph.reshape(isPage, [count, max, 1, 1, 1]),
    each: graph.expand(ones, [count, 2, max])
  }
}

/** Masks shared by all layers of one window: P pages of S past positions, T new ones in each row. */
export interface Masks {
  /**
   * [P, 1, 1, 1, S]: 0 for a row's past, `Scores.masked` beyond it; with a window [P, 1, 1, T, S], also masked before
   * it.
   */
  readonly past: Value
  /** [T, T]: 0 for new positions visible to a new position, `Scores.masked` elsewhere. */
  readonly causal: Value
}

/** `lengths` int32 [B]: the rows' numbers of past positions. */
export const masks = (
  graph: Graph,
  lengths: Value,
  { rows, starts }: Pick<Pages, "rows" | "starts">,
  size: Dim,
  width: Dim,
  window?: number
): Masks => {
  const [pages] = rows.shape as [Dim]
  const column = (x: Value) => graph.reshape(graph.cast(x, "int64"), [pages, 1, 1, 1, 1])
  const ends = column(graph.gather(lengths, rows))
  const columns = range(graph, width)
  const queries = graph.reshape(columns, [width, 1])
  const positions = graph.add(range(graph, size), column(starts))
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
 * Queries [B, H, T, D], keys and values [B, KV, T, D] of the new positions; pages' keys [P, KV, D, S] and values [P,
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
  { each, isPage, ofRows, rows: pageRows }: Places,
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
  /** Masked scores, [count, KV, perKv T, length]. */
  const visible = (asking: Value, keysAcross: Value, mask: Value, length: Dim) => {
    const [count] = asking.shape as [Dim]
    const scores = Scores.capped(graph, graph.matmul(asking, keysAcross), cap)
    return graph.reshape(graph.add(graph.reshape(scores, [count, kvHeads, perKv, width, length]), mask), scores.shape)
  }
  const pastScores = visible(graph.gather(grouped, pageRows), pastKeys, past, positions)
  const newScores = visible(grouped, graph.transpose(keys, [0, 1, 3, 2]), causal, width)
  const greatest = (scores: Value) => graph.amax(scores, [3], true)
  const ofPages = graph.where(isPage, graph.gather(greatest(pastScores), ofRows), graph.scalar(Scores.masked))
  const seen = graph.max(graph.amax(ofPages, [1]), greatest(newScores))
  const sink =
    sinks === undefined
      ? undefined
      : graph.reshape(
          graph.expand(graph.reshape(sinks, [1, kvHeads, perKv, 1, 1]), [rows, kvHeads, perKv, width, 1]),
          seen.shape
        )
  const max = sink === undefined ? seen : graph.max(seen, sink)
  /** exp(s - most) times the values, followed by the sum of exp(s - most): [count, KV, perKv T, D + 1]. */
  const mixed = (scores: Value, max: Value, values: Value) => {
    const weights = graph.exp(graph.sub(scores, max))
    return graph.concat([graph.matmul(weights, values), graph.sum(weights, [3], true)], 3)
  }
  const apart = graph.gather(mixed(pastScores, graph.gather(max, pageRows), pastValues), ofRows)
  const flat = graph.reshape(apart, [rows, ofRows.shape[1]!, graph.dimMul(kvHeads, stacked, size + 1)])
  const summed = graph.slice(graph.matmul(each, flat), 1, 0, 1)
  const ofPast = graph.reshape(summed, [rows, kvHeads, stacked, size + 1])
  const all = graph.add(ofPast, mixed(newScores, max, values))
  const [weighted, shares] = graph.split(all, 3, [size, 1])
  const total = sink === undefined ? shares! : graph.add(shares!, graph.exp(graph.sub(sink, max)))
  return graph.reshape(graph.div(weighted!, total), [rows, heads, width, size])
}
