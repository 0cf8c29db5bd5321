/** A short causal depthwise convolution over tokens. */
import { dimAdd } from "../../graph/Dim.ts"
import type { Dim } from "../../graph/Dim.ts"
import type { Graph } from "../../graph/Graph.ts"
import type { Value } from "../../graph/Value.ts"

/**
 * y_t = Σ_lag w_lag x_{t - lag}, [B, T, C]. `padded` [B, K - 1 + T, C] has the K - 1 previous tokens in front; `weight`
 * [C, 1, K] as in PyTorch, the current token's last. `counts` [B, T, 1]: 1 if the token at that lag is in the same
 * sequence, else 0; absent: all 1.
 */
export const causal = (
  graph: Graph,
  padded: Value,
  weight: Value,
  width: Dim,
  counts?: (lag: number) => Value
): Value => {
  const [channels, , kernel] = weight.shape as [number, number, number]
  const taps = graph.transpose(graph.reshape(weight, [channels, kernel]), [1, 0])
  const parts = Array.from({ length: kernel }, (_, tap) => {
    const lag = kernel - 1 - tap
    const x = graph.slice(padded, 1, tap, dimAdd(tap, width))
    const own = counts === undefined || lag === 0 ? x : graph.mul(x, counts(lag))
    return graph.mul(own, graph.reshape(graph.slice(taps, 0, tap, tap + 1), [1, 1, channels]))
  })
  return parts.reduce((a, b) => graph.add(a, b))
}

/** Prepends `before` [B, K - 1, C] to x [B, T, C]; zeros if absent. */
export const padded = (graph: Graph, x: Value, kernel: number, before?: Value): Value => {
  const [rows, , channels] = x.shape as [Dim, Dim, Dim]
  const front = before ?? graph.expand(graph.scalar(0, x.dtype), [rows, kernel - 1, channels])
  return kernel === 1 ? x : graph.concat([front, x], 1)
}
