/**
 * Builds a gated delta rule layer (Gated DeltaNet, Yang et al. 2024, 2412.06464), which replaces attention in Qwen 3.5:
 * each value head has a state S [Dk, Dv] that decays, and is corrected by its prediction error.
 *
 *     S_t = a_t S_{t-1} + b_t k_t (v_t - (a_t S_{t-1})ᵀ k_t)ᵀ    o_t = S_tᵀ q_t / sqrt(Dk)
 *
 * with ln a = -exp(A) softplus(x W_a + dt) and b = sigmoid(x W_b). Queries, keys and values pass a short convolution
 * and SiLU; queries and keys are L2-normalized; outputs are normed and gated by SiLU(x W_z). Training and generation
 * only differ in `Recurrence`.
 */
import type { Dim } from "../graph/Dim.ts"
import type { Graph } from "../graph/Graph.ts"
import type { Value } from "../graph/Value.ts"
import type { ModelConfig } from "./ModelConfig.ts"
import * as Tensors from "./Tensors.ts"

/** For all value heads: queries and keys [B, T, Hv, Dk], values [B, T, Hv, Dv], ln a and b [B, T, Hv]. */
export interface Operands {
  readonly queries: Value
  readonly keys: Value
  readonly values: Value
  readonly decays: Value
  readonly betas: Value
}

/** Operations that mix a token with earlier ones of its sequence. */
export interface Recurrence {
  /** The convolution of x [B, T, C] with a weight [C, 1, K]: [B, T, C]. */
  readonly convolve: (layer: number, x: Value, weight: Value) => Value
  /** [B, T, Hv, Dv] */
  readonly mix: (layer: number, operands: Operands) => Value
}

interface Parts {
  readonly tensor: (name: string, shape: ReadonlyArray<number>) => Value
  readonly recurrence: Recurrence | undefined
  /** B and T. */
  readonly rows: Dim
  readonly width: Dim
}

interface Around {
  readonly linear: (x: Value, layer: number, projection: Tensors.Projection) => Value
  readonly again: <A>(kind: "elements", inputs: ReadonlyArray<Value>, build: () => A) => A
  readonly normed: (x: Value) => Value
}

const silu = (graph: Graph, x: Value): Value => graph.mul(x, graph.sigmoid(x))

/** ln(1 + exp(x)), stable for large x. */
const softplus = (graph: Graph, x: Value): Value => {
  const rest = graph.log(graph.add(graph.scalar(1), graph.exp(graph.neg(graph.abs(x)))))
  return graph.add(graph.max(x, graph.scalar(0)), rest)
}

/** Added to the sum of squares before the root, as in transformers. */
const lengthEpsilon = 1e-6

const ofLengthOne = (graph: Graph, x: Value): Value =>
  graph.div(x, graph.sqrt(graph.add(graph.sum(graph.mul(x, x), [-1], true), graph.scalar(lengthEpsilon))))

/**
 * Output of a layer's heads, (N, Hv Dv), from the results of the linear layers `in_proj_qkv` (N, C), `in_proj_z` (N, Hv
 * Dv), `in_proj_b` and `in_proj_a` (N, Hv).
 */
const mixed = (
  graph: Graph,
  config: ModelConfig,
  { recurrence, rows, tensor, width }: Parts,
  [qkv, z, b, a]: readonly [Value, Value, Value, Value],
  layer: number
): Value => {
  if (recurrence === undefined) throw new RangeError("this model's layers of the gated delta rule need a recurrence")
  const { kernel, keyDim, keyHeads, valueDim, valueHeads } = config.delta!
  const { keys: keySize, mixed: channels, values: valueSize } = Tensors.deltaSizes(config)
  const inRows = (x: Value, ...sizes: ReadonlyArray<number>) => graph.reshape(x, [rows, width, ...sizes])
  const weight = tensor(Tensors.deltaName(layer, "conv1d.weight"), [channels, 1, kernel])
  const convolved = silu(graph, recurrence.convolve(layer, inRows(qkv, channels), weight))
  const [queries, keys, values] = graph.split(convolved, 2, [keySize, keySize, valueSize]) as [Value, Value, Value]
  /** Repeats each key head for its consecutive value heads. */
  const ofHeads = (x: Value) => {
    const own = ofLengthOne(graph, inRows(x, keyHeads, 1, keyDim))
    const shared = graph.expand(own, [rows, width, keyHeads, valueHeads / keyHeads, keyDim])
    return graph.reshape(shared, [rows, width, valueHeads, keyDim])
  }
  const perHead = (part: "A_log" | "dt_bias") => tensor(Tensors.deltaName(layer, part), [valueHeads])
  const steps = softplus(graph, graph.add(a, perHead("dt_bias")))
  const source = recurrence.mix(layer, {
    queries: graph.scale(ofHeads(queries), keyDim ** -0.5),
    keys: ofHeads(keys),
    values: inRows(values, valueHeads, valueDim),
    decays: inRows(graph.neg(graph.mul(graph.exp(perHead("A_log")), steps)), valueHeads),
    betas: inRows(graph.sigmoid(b), valueHeads)
  })
  const square = graph.mean(graph.mul(source, source), [-1], true)
  const normed = graph.div(source, graph.sqrt(graph.add(square, graph.scalar(config.normEpsilon))))
  const weighed = graph.mul(normed, tensor(Tensors.deltaName(layer, "norm.weight"), [valueDim]))
  const gated = graph.mul(weighed, silu(graph, inRows(z, valueHeads, valueDim)))
  return graph.reshape(gated, [graph.dimMul(rows, width), valueSize])
}

/** Output of the layer, which is added to x (N, H). */
export const build = (graph: Graph, config: ModelConfig, parts: Parts & Around, x: Value, layer: number): Value => {
  const { again, linear, normed } = parts
  const projections = again("elements", [x], () => {
    const input = normed(x)
    const of = (name: Tensors.Projection) => linear(input, layer, name)
    return [of("in_proj_qkv"), of("in_proj_z"), of("in_proj_b"), of("in_proj_a")] as const
  })
  const source = again("elements", projections, () => mixed(graph, config, parts, projections, layer))
  return linear(source, layer, "out_proj")
}
