/**
 * Selects the positions to compute logprobs for. Prompts and padding need none, and the vocabulary matmul is a large
 * part of a small model's cost.
 */
import type { Graph } from "../graph/Graph.ts"
import type { Value } from "../graph/Value.ts"

/** M of N positions. */
export interface HeadPositions {
  /** Takes the selected rows of (N, …): (M, …). */
  readonly take: (values: Value) => Value
  /** Scatters values of the selected rows, 0 elsewhere: (M, K) to (N, K). */
  readonly spread: (values: Value) => Value
}

/** `ids` int32 (M): distinct positions. `slots` int32 (N): index of a position in `ids`, else M. */
export const make = (graph: Graph, ids: Value, slots: Value): HeadPositions => {
  const selected = (values: Value) => graph.gather(values, ids)
  const spread = (values: Value) => {
    const nothing = graph.expand(graph.scalar(0, values.dtype), [1, ...values.shape.slice(1)])
    return graph.gather(graph.concat([values, nothing], 0), slots)
  }
  /** Positions are distinct, so that each direction's gradient is the other, without accumulation. */
  const paired = (values: Value, forward: (values: Value) => Value, backward: (gradient: Value) => Value): Value =>
    graph.customGradient([values], () => ({
      outputs: [forward(values)],
      backward: ([gradient]) => [gradient && backward(gradient)]
    }))[0]!
  return {
    take: (values) => (values.dtype === graph.real ? paired(values, selected, spread) : selected(values)),
    spread: (values) => paired(values, spread, selected)
  }
}
