/**
 * The decoder of Llama, Qwen2 and Qwen3 as a graph: RMSNorm, rotary positions, grouped-query attention, SwiGLU, and a
 * low-rank adapter on any linear layer. Follows `modeling_llama.py`, `modeling_qwen2.py` and `modeling_qwen3.py` of
 * transformers; numbers agree to 1e-4.
 *
 * B rows of T tokens, N = B T, H hidden size. Training and generation differ in `attention` alone.
 */
import type { Dim } from "../graph/Dim.ts"
import type { Graph } from "../graph/Graph.ts"
import type { Value } from "../graph/Value.ts"
import type { ModelConfig } from "./ModelConfig.ts"
import * as Rope from "./Rope.ts"
import * as Tensors from "./Tensors.ts"

/** Queries [B, heads, T, D], keys and values [B, kvHeads, T, D] of a layer, rotated; gives [B, heads, T, D]. */
export type Attention = (layer: number, queries: Value, keys: Value, values: Value) => Value

/** An adapter's share of a linear layer: scale · B (A x). */
export interface LowRank {
  /** [r, in] */
  readonly a: Value
  /** [out, r] */
  readonly b: Value
  readonly scale: number
}

/** Where tensors come from, in the graph's real type. */
export interface Source {
  readonly tensor: (name: string, shape: ReadonlyArray<number>) => Value
  /** Of the module named without `.weight`. */
  readonly lowRank: (module: string) => LowRank | undefined
}

/**
 * What the backward pass computes again. "parts": all of a layer's attention and of its feed-forward part from their
 * inputs: the least memory, for about a quarter more time. "elements": what lies between products of matrices, whose
 * results are kept: attention's scores, norms, activations; a few percent more time, and 4 N (2 I + 3 heads D) bytes a
 * layer more memory than "parts".
 */
export type Remat = "parts" | "elements"

export interface Inputs {
  /** int32 [B, T] */
  readonly inputIds: Value
  readonly positionIds: Value
  readonly attention: Attention
  readonly remat?: boolean | Remat
}

export interface Outputs {
  /** Final hidden states, normed (N, H). */
  readonly hidden: Value
  /** Output matrix (V, H). */
  readonly head: Value
}

/** x / sqrt(mean x² + ε) · weight, over the last axis. */
const rmsNorm = (graph: Graph, x: Value, weight: Value, epsilon: number): Value => {
  const meanSquare = graph.mean(graph.mul(x, x), [-1], true)
  const inverse = graph.div(graph.scalar(1), graph.sqrt(graph.add(meanSquare, graph.scalar(epsilon))))
  return graph.mul(graph.mul(x, inverse), weight)
}

/** The decoder over these tokens. */
export const build = (
  graph: Graph,
  config: ModelConfig,
  { lowRank, tensor }: Source,
  { attention, inputIds, positionIds, remat: asked = false }: Inputs
): Outputs => {
  const remat = asked === true ? "parts" : asked
  const { hasQkNorm, headDim, heads, hiddenSize, kvHeads, layers, normEpsilon, vocabSize } = config
  const [rows, width] = inputIds.shape as [Dim, Dim]
  const tokens = graph.dimMul(rows, width)

  const norm = (x: Value, name: string, size: number) => rmsNorm(graph, x, tensor(name, [size]), normEpsilon)

  /** x (N, in) to (N, out). */
  const linear = (x: Value, layer: number, projection: Tensors.Projection): Value => {
    const module = Tensors.moduleName(layer, projection)
    const [out, input] = Tensors.linearShape(config, projection)
    let y = graph.gemm(x, tensor(`${module}.weight`, [out, input]), false, true)
    if (Tensors.hasBias(config, projection)) y = graph.add(y, tensor(`${module}.bias`, [out]))
    const adapter = lowRank(module)
    if (adapter === undefined) return y
    const low = graph.scale(graph.gemm(x, adapter.a, false, true), adapter.scale)
    return graph.add(y, graph.gemm(low, adapter.b, false, true))
  }

  /** (N, n D) to [B, n, T, D]. */
  const split = (x: Value, count: number) =>
    graph.transpose(graph.reshape(x, [rows, width, count, headDim]), [0, 2, 1, 3])

  const embedding = tensor(Tensors.embedding, [vocabSize, hiddenSize])
  const angles = Rope.angles(graph, config, positionIds)

  // Whole parts computed again: the peak holds the activations of one of them. Or only what lies between products of
  // matrices.
  const again = <A>(kind: Remat, inputs: ReadonlyArray<Value>, build: () => A): A =>
    remat === kind ? graph.checkpoint(inputs, build) : build()

  const projected = (x: Value, layer: number): ReadonlyArray<Value> => {
    const normed = norm(x, Tensors.normName(layer, "input_layernorm"), hiddenSize)
    return [linear(normed, layer, "q_proj"), linear(normed, layer, "k_proj"), linear(normed, layer, "v_proj")]
  }

  const mixed = ([q, k, v]: ReadonlyArray<Value>, layer: number): Value => {
    const headNorm = (y: Value, name: "q_norm" | "k_norm") =>
      hasQkNorm ? norm(y, Tensors.headNormName(layer, name), headDim) : y
    const queries = Rope.rotate(graph, headNorm(split(q!, heads), "q_norm"), angles)
    const keys = Rope.rotate(graph, headNorm(split(k!, kvHeads), "k_norm"), angles)
    const values = attention(layer, queries, keys, split(v!, kvHeads))
    return graph.reshape(graph.transpose(values, [0, 2, 1, 3]), [tokens, heads * headDim])
  }

  const attend = (x: Value, layer: number): Value => {
    const projections = again("elements", [x], () => projected(x, layer))
    const flat = again("elements", projections, () => mixed(projections, layer))
    return graph.add(x, linear(flat, layer, "o_proj"))
  }

  /** W_down (silu(W_gate x) * W_up x) */
  const feedForward = (x: Value, layer: number): Value => {
    const [gate, up] = again("elements", [x], () => {
      const normed = norm(x, Tensors.normName(layer, "post_attention_layernorm"), hiddenSize)
      return [linear(normed, layer, "gate_proj"), linear(normed, layer, "up_proj")] as const
    })
    const down = again("elements", [gate, up], () =>
      linear(graph.mul(graph.mul(gate, graph.sigmoid(gate)), up), layer, "down_proj")
    )
    return graph.add(x, down)
  }

  const stretch = (x: Value, layer: number, part: typeof attend) => again("parts", [x], () => part(x, layer))
  let x = graph.reshape(graph.gather(embedding, inputIds), [tokens, hiddenSize])
  for (let layer = 0; layer < layers; layer++) x = stretch(stretch(x, layer, attend), layer, feedForward)
  return {
    hidden: norm(x, Tensors.finalNorm, hiddenSize),
    head: config.hasTiedHead ? embedding : tensor(Tensors.head, [vocabSize, hiddenSize])
  }
}
