/**
 * Applies the gated delta rule to new positions of several sequences, from cached states.
 *
 * Per such layer and sequence the state is one row of numbers: the last K - 1 inputs [K - 1, C] of the convolution,
 * then S [Hv, Dk, Dv]. Positions beyond a row's own count do not change its state.
 */
import type { Dim } from "../../graph/Dim.ts"
import type { Graph } from "../../graph/Graph.ts"
import { loop } from "../../graph/Loop.ts"
import type { Value } from "../../graph/Value.ts"
import type { Operands, Recurrence } from "../../model/DeltaNet.ts"
import type { ModelConfig } from "../../model/ModelConfig.ts"
import * as Convolution from "../../model/part/Convolution.ts"
import * as Tensors from "../../model/Tensors.ts"

/** Numbers in each of a row's two states. */
export const sizesOf = ({ delta }: Pick<ModelConfig, "delta">) => {
  if (delta === undefined) return { behind: 0, memory: 0 }
  const { kernel, keyDim, valueDim, valueHeads } = delta
  return { behind: (kernel - 1) * Tensors.deltaSizes({ delta }).mixed, memory: valueHeads * keyDim * valueDim }
}

export interface Options {
  readonly config: Pick<ModelConfig, "delta">
  /** int32 [B]: new positions of each row; later ones are padding. */
  readonly counts: Value
  /** Previous states of a layer, [B, size]. */
  readonly stateOf: (layer: number) => Value
  /** Receives the new states, [B, size], layer by layer. */
  readonly keep: (layer: number, state: Value) => void
  /** T */
  readonly width: Dim
}

/** Runs token by token: the output of each, [T, B, H, Dv], and the state after the last. */
const through = (graph: Graph, width: Dim, operands: ReadonlyArray<Value>, state: Value): readonly [Value, Value] => {
  const count = graph.reshape(graph.dim(width), [])
  const { carried, stacked } = loop(graph, { count, symbol: width, captured: operands, initial: [state] }, (run) => {
    const { captured, graph: g, iteration } = run
    const [q, k, v, decay, beta] = captured.map((x) => g.gather(x, iteration)) as [Value, Value, Value, Value, Value]
    const row = (x: Value) => g.reshape(x, [x.shape[0]!, x.shape[1]!, 1, x.shape[2]!])
    const each = (x: Value) => g.reshape(x, [x.shape[0]!, x.shape[1]!, 1, 1])
    const kept = g.mul(run.carried[0]!, each(g.exp(decay)))
    const missing = g.mul(g.sub(row(v), g.matmul(row(k), kept)), each(beta))
    const next = g.add(kept, g.matmul(g.transpose(row(k), [0, 1, 3, 2]), missing))
    return { carried: [next], stacked: [g.reshape(g.matmul(row(q), next), v.shape)] }
  })
  return [stacked[0]!, carried[0]!]
}

export const make = (graph: Graph, { config, counts, keep, stateOf, width }: Options): Recurrence => {
  const { behind, memory } = sizesOf(config)
  const [rows] = counts.shape as [Dim]
  const { kernel, keyDim, valueDim, valueHeads } = config.delta!
  const channels = Tensors.deltaSizes(config).mixed
  const range = (size: Dim) => {
    const end = graph.reshape(graph.dim(size), [])
    return graph.node("Range", [graph.scalar(0, "int64"), end, graph.scalar(1, "int64")], "int64", [size])
  }
  const ends = graph.reshape(graph.cast(counts, "int64"), [rows, 1])
  const isOwn = graph.cast(graph.reshape(graph.less(range(width), ends), [rows, width, 1]), graph.real)
  const last = new Map<number, Value>()

  return {
    convolve: (layer, x, weight) => {
      const [before] = graph.split(stateOf(layer), 1, [behind, memory])
      const padded = Convolution.padded(graph, x, kernel, graph.reshape(before!, [rows, kernel - 1, channels]))
      // The last K - 1 non-padding tokens.
      const flat = graph.reshape(padded, [graph.dimMul(rows, padded.shape[1]!), channels])
      const starts = graph.mul(graph.reshape(range(rows), [rows, 1]), graph.dim(padded.shape[1]!))
      const ids = graph.add(graph.add(starts, ends), graph.ints([...Array(kernel - 1).keys()]))
      last.set(layer, graph.reshape(graph.gather(flat, ids), [rows, behind]))
      return Convolution.causal(graph, padded, weight, width)
    },
    mix: (layer, { betas, decays, keys, queries, values }: Operands) => {
      const [, before] = graph.split(stateOf(layer), 1, [behind, memory])
      const first = (x: Value) => graph.transpose(x, x.shape.length === 4 ? [1, 0, 2, 3] : [1, 0, 2])
      const operands = [queries, keys, values, graph.mul(decays, isOwn), graph.mul(betas, isOwn)].map(first)
      const state = graph.reshape(before!, [rows, valueHeads, keyDim, valueDim])
      const [output, after] = through(graph, width, operands, state)
      keep(layer, graph.concat([last.get(layer)!, graph.reshape(after, [rows, memory])], 1))
      return graph.transpose(output, [1, 0, 2, 3])
    }
  }
}
