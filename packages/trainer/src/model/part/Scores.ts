/** Shared parts of all attention implementations: scores and visibility. */
import type { Dim } from "../../graph/Dim.ts"
import type { Graph } from "../../graph/Graph.ts"
import type { Value } from "../../graph/Value.ts"

/** Suppresses any score, and stays finite in sums. */
export const masked = -1e30

/** 0 where visible, `masked` elsewhere. */
export const bias = (graph: Graph, isVisible: Value): Value =>
  graph.where(isVisible, graph.scalar(0), graph.scalar(masked))

/**
 * True where queries see keys, by their positions in one sequence: no later keys, and with a window only the last
 * `window` ones. Integers that broadcast.
 */
export const isVisible = (graph: Graph, queries: Value, keys: Value, window: number | undefined): Value => {
  const isBefore = graph.lessEq(keys, queries)
  if (window === undefined) return isBefore
  return graph.and(isBefore, graph.less(graph.sub(queries, keys), graph.scalar(window, queries.dtype)))
}

/** True for keys of the query's segment, or of its shared prompt. Integers that broadcast. */
export const isOwn = (graph: Graph, queries: Value, keys: Value, prompts: Value | undefined): Value => {
  const isInSegment = graph.equal(queries, keys)
  return prompts === undefined ? isInSegment : graph.or(isInSegment, graph.equal(prompts, keys))
}

/** c tanh(s / c) */
export const capped = (graph: Graph, scores: Value, cap: number | undefined): Value =>
  cap === undefined ? scores : graph.scale(graph.tanh(graph.scale(scores, 1 / cap)), cap)

/** softmax(s) of scores [B, KV, perKv, queries, keys] along keys; sinks [heads] take a share, which is dropped. */
export const weights = (graph: Graph, scores: Value, sinks: Value | undefined): Value => {
  if (sinks === undefined) return graph.softmax(scores)
  const [rows, kvHeads, perKv, queries, keys] = scores.shape as [Dim, Dim, Dim, Dim, Dim]
  const column = graph.expand(graph.reshape(sinks, [1, kvHeads, perKv, 1, 1]), [rows, kvHeads, perKv, queries, 1])
  return graph.slice(graph.softmax(graph.concat([scores, column], 4)), 4, 0, keys)
}

/** Gradient of s, from that of c tanh(s / c) and its value. */
export const capGradient = (graph: Graph, gradient: Value, value: Value, cap: number | undefined): Value => {
  if (cap === undefined) return gradient
  const ratio = graph.scale(value, 1 / cap)
  return graph.mul(gradient, graph.sub(graph.scalar(1), graph.mul(ratio, ratio)))
}

export const byWindow = <A>(make: (window: number | undefined) => A): ((window: number | undefined) => A) => {
  const known = new Map<number | undefined, A>()
  return (window) => {
    const found = known.get(window)
    if (found !== undefined) return found
    const made = make(window)
    known.set(window, made)
    return made
  }
}
