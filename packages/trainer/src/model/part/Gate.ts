/** Gated activations of feed-forward blocks. */
import type { Graph } from "../../graph/Graph.ts"
import type { Value } from "../../graph/Value.ts"
import type { Activation } from "../family/Traits.ts"

/** x / 2 (1 + tanh(sqrt(2 / π) (x + 0.044715 x³))) (Hendrycks & Gimpel 2016, 1606.08415) */
const geluTanh = (graph: Graph, x: Value): Value => {
  const cubic = graph.mul(x, graph.add(graph.scalar(1), graph.scale(graph.mul(x, x), 0.044715)))
  const inner = graph.tanh(graph.scale(cubic, Math.sqrt(2 / Math.PI)))
  return graph.mul(graph.scale(x, 0.5), graph.add(inner, graph.scalar(1)))
}

export const apply = (graph: Graph, activation: Activation, gate: Value, up: Value): Value => {
  switch (activation) {
    case "silu":
      return graph.mul(graph.mul(gate, graph.sigmoid(gate)), up)
    case "gelu_tanh":
      return graph.mul(geluTanh(graph, gate), up)
  }
}

/** min(gate, limit) sigmoid(alpha gate) (clip(up) + 1), with gate limited from above, and up on both sides. */
export const clamped = (graph: Graph, gate: Value, up: Value, alpha: number, limit: number): Value => {
  const low = graph.clip(gate, -3e38, limit)
  const swish = graph.mul(low, graph.sigmoid(graph.scale(low, alpha)))
  return graph.mul(swish, graph.add(graph.clip(up, -limit, limit), graph.scalar(1, up.dtype)))
}
