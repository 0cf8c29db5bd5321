/**
 * Builds a decoder graph from the options in `family/Traits`, with a low-rank adapter on any linear layer. Follows
 * transformers' `modeling_….py`; numbers agree to 1e-4.
 *
 * B rows of T tokens, N = B T, H hidden size. Training and generation only differ in `attention`.
 */
import type { Dim } from "../graph/Dim.ts"
import type { Graph } from "../graph/Graph.ts"
import type { Value } from "../graph/Value.ts"
import * as DeltaNet from "./DeltaNet.ts"
import * as Experts from "./Experts.ts"
import * as Gate from "./part/Gate.ts"
import * as LowRank from "./part/LowRank.ts"
import type { ModelConfig } from "./ModelConfig.ts"
import * as Scores from "./part/Scores.ts"
import * as Rope from "./family/Rope.ts"
import * as Tensors from "./Tensors.ts"

export interface AttentionTraits {
  readonly layer: number
  /** Multiplies the scores. */
  readonly scale: number
  /** Scores s become c tanh(s / c). */
  readonly cap: number | undefined
  /** A token sees itself and the `window - 1` before it; absent: all. */
  readonly window: number | undefined
  /** An additional score per head, [heads]: part of the softmax, without a value. */
  readonly sinks: Value | undefined
}

/** Rotated queries [B, heads, T, D], keys and values [B, kvHeads, T, D] of a layer; returns [B, heads, T, D]. */
export type Attention = (traits: AttentionTraits, queries: Value, keys: Value, values: Value) => Value

export interface Source {
  readonly tensor: (name: string, shape: ReadonlyArray<number>) => Value
  /** x (N, in) times the named weight [out, in]: (N, out). Used for every matmul with a block's weight. */
  readonly product?: (x: Value, name: string, shape: readonly [number, number]) => Value
  /** Tensors of all experts in one, [E, ...]. */
  readonly stack?: Experts.Weights["stack"]
  /** Adapter of the module; its name omits `.weight`. */
  readonly lowRank: (module: string) => LowRank.LowRank | undefined
}

/**
 * Values that the backward pass recomputes. "parts": a layer from its input, except the attention result, which is
 * stored: least memory, for about a quarter more time. "elements": everything between matmuls, whose results are stored
 * (norms, activations): a few percent more time, and 4 N (H + 2 I + 2 heads D) bytes more per layer than "parts".
 * Attention weights are recomputed in both.
 */
export type Remat = "parts" | "elements"

export interface Inputs {
  /** int32 [B, T] */
  readonly inputIds: Value
  readonly positionIds: Value
  readonly attention: Attention
  readonly recurrence?: DeltaNet.Recurrence | undefined
  readonly remat?: boolean | Remat
  /** Number of sequential chunks of N for feed-forward blocks, if parts are recomputed; must divide N. */
  readonly feedForwardChunks?: number | undefined
  readonly routes?: Experts.Routes
}

export interface Outputs {
  /** Final normed hidden states (N, H). */
  readonly hidden: Value
  /** Output matrix (V, H). */
  readonly head: Value
  /** Custom logits (N, V) of hidden states (N, H), if they are not just products with the output matrix. */
  readonly logits?: ((hidden: Value) => Value) | undefined
}

/** x / sqrt(mean x² + ε) · weight, over the last axis. */
const rmsNorm = (graph: Graph, x: Value, weight: Value, epsilon: number): Value => {
  const meanSquare = graph.mean(graph.mul(x, x), [-1], true)
  const inverse = graph.div(graph.scalar(1), graph.sqrt(graph.add(meanSquare, graph.scalar(epsilon))))
  return graph.mul(graph.mul(x, inverse), weight)
}

const times = (graph: Graph, x: Value, k: number): Value => (k === 1 ? x : graph.scale(x, k))

/** The logits of hidden states, (N, V). */
export const logits = (graph: Graph, { head, logits }: Outputs, hidden: Value): Value =>
  logits?.(hidden) ?? graph.gemm(hidden, head, false, true)

/** The output matrix, and a custom logits function if needed. */
const headOf = (
  graph: Graph,
  config: ModelConfig,
  { lowRank, tensor }: Source,
  embedding: Value
): Omit<Outputs, "hidden"> => {
  const { hasTiedHead, hiddenSize, logitCap, vocabSize } = config
  const head = hasTiedHead ? embedding : tensor(Tensors.head, [vocabSize, hiddenSize])
  const adapter = lowRank(Tensors.headModule)
  if (adapter === undefined && logitCap === undefined) return { head }
  const product = (x: Value) => graph.gemm(x, head, false, true)
  const adapted = (x: Value) => LowRank.add(graph, product(x), adapter, { x, weight: () => head, product })
  return { head, logits: (hidden) => Scores.capped(graph, adapted(hidden), logitCap) }
}

/** Splits (N, 2 heads D) into queries and each head's gate: (N, heads D) each. */
const apart = (graph: Graph, both: Value, heads: number): readonly [Value, Value] => {
  const [tokens, width] = both.shape as [Dim, number]
  const [queries, gate] = graph.split(graph.reshape(both, [tokens, heads, 2, width / 2 / heads]), 2, 2)
  return [graph.reshape(queries!, [tokens, width / 2]), graph.reshape(gate!, [tokens, width / 2])]
}

/** The linear layers of blocks: x (N, in) to (N, out). */
const linearOf = (graph: Graph, config: ModelConfig, source: Source) => {
  const { lowRank, tensor } = source
  const product = (x: Value, name: string, shape: readonly [number, number]) =>
    source.product?.(x, name, shape) ?? graph.gemm(x, tensor(name, shape), false, true)

  return (x: Value, layer: number, projection: Tensors.Projection): Value => {
    const module = Tensors.moduleName(layer, projection)
    const [out, input] = Tensors.linearShape(config, projection)
    const weight = `${module}.weight`
    const plain = (input: Value) => product(input, weight, [out, input.shape[1] as number])
    const y = LowRank.add(graph, product(x, weight, [out, input]), lowRank(module), {
      x,
      weight: () => tensor(weight, [out, input]),
      product: plain
    })
    return Tensors.hasBias(config, projection) ? graph.add(y, tensor(`${module}.bias`, [out])) : y
  }
}

/** Angles per kind of rotary positions; undefined for unused ones. */
const anglesOf = (graph: Graph, config: ModelConfig, positionIds: Value) =>
  config.ropes.map((rope, i) =>
    config.layerTraits.some((layer) => layer.rope === i)
      ? Rope.angles(graph, rope, config.maxPositions, positionIds, i === 0 ? "rope" : `rope${i}`)
      : undefined
  )

/**
 * Applies a row-wise part to x (N, …) piece by piece: for long rows, its intermediate values would exceed everything
 * that layers store.
 */
const inChunks = (graph: Graph, x: Value, chunks: number, part: (chunk: Value) => Value): Value => {
  if (chunks === 1) return part(x)
  const each = graph.split(x, 0, chunks).map((chunk) => graph.checkpoint([chunk], () => part(chunk)))
  return graph.concat(each, 0, x.shape[0])
}

export const build = (graph: Graph, config: ModelConfig, source: Source, inputs: Inputs): Outputs => {
  const { attention, inputIds, positionIds, feedForwardChunks = 1, recurrence, remat: mode = false, routes } = inputs
  const remat = mode === true ? "parts" : mode
  const { headDim, heads, hiddenSize, kvHeads, layers, normEpsilon, normOffset, qkNorm, vocabSize } = config
  const [rows, width] = inputIds.shape as [Dim, Dim]
  const tokens = graph.dimMul(rows, width)
  const { lowRank, tensor } = source

  const norm = (x: Value, name: string, size: number) => {
    const weight = tensor(name, [size])
    return rmsNorm(graph, x, normOffset === 0 ? weight : graph.add(weight, graph.scalar(normOffset)), normEpsilon)
  }

  const linear = linearOf(graph, config, source)

  /** (N, n D) to [B, n, T, D]. */
  const split = (x: Value, count: number) =>
    graph.transpose(graph.reshape(x, [rows, width, count, headDim]), [0, 2, 1, 3])

  const embedding = tensor(Tensors.embedding, [vocabSize, hiddenSize])
  const angles = anglesOf(graph, config, positionIds)
  const growth = config.queryGrowth && Rope.growth(graph, config.queryGrowth, config.maxPositions, positionIds)

  // Recomputes whole parts (the peak then has the activations of one part), or only the values between matmuls.
  const again = <A>(kind: Remat, inputs: ReadonlyArray<Value>, build: () => A): A =>
    remat === kind ? graph.checkpoint(inputs, build) : build()

  const normed = (x: Value, layer: number, place: Tensors.NormPlace): Value => {
    const name = Tensors.normName(config, layer, place)
    return name === undefined ? x : norm(x, name, hiddenSize)
  }

  /** x + k y, with y normed if the architecture has norms after a part. */
  const added = (x: Value, y: Value, layer: number, place: Tensors.NormPlace): Value =>
    graph.add(x, times(graph, normed(y, layer, place), config.residualScale))

  const projected = (x: Value, layer: number): ReadonlyArray<Value> => {
    const input = normed(x, layer, "beforeAttention")
    if (!config.isFused) return (["q_proj", "k_proj", "v_proj"] as const).map((name) => linear(input, layer, name))
    const sizes = [heads * headDim, kvHeads * headDim, kvHeads * headDim]
    return graph.split(linear(input, layer, "qkv_proj"), 1, sizes)
  }

  const mixed = ([first, k, v]: ReadonlyArray<Value>, layer: number): Value => {
    const { rope, window } = config.layerTraits[layer]!
    const [q, gate] = config.hasOutputGate ? apart(graph, first!, heads) : [first!]
    const prepared = (x: Value, count: number, name: "q_norm" | "k_norm") => {
      const weight = Tensors.headNormName(layer, name)
      const whole = qkNorm === "width" ? norm(x, weight, Tensors.headNormSize(config, name)) : x
      const apart = split(whole, count)
      const ready = qkNorm === "heads" ? norm(apart, weight, headDim) : apart
      return rope === undefined ? ready : Rope.rotate(graph, ready, angles[rope]!)
    }
    const sinks = config.hasSinks ? tensor(Tensors.sinksName(layer), [heads]) : undefined
    const traits = { layer, scale: config.attentionScale, cap: config.attentionCap, window, sinks }
    const [normedQueries, keys] = [prepared(q, heads, "q_norm"), prepared(k!, kvHeads, "k_norm")]
    const queries = growth === undefined ? normedQueries : graph.mul(normedQueries, growth)
    const values = graph.keep(attention(traits, queries, keys, split(v!, kvHeads)))
    const joined = graph.reshape(graph.transpose(values, [0, 2, 1, 3]), [tokens, heads * headDim])
    return gate === undefined ? joined : graph.mul(joined, graph.sigmoid(gate))
  }

  const remember = (x: Value, layer: number): Value => {
    const before = (x: Value) => normed(x, layer, "beforeAttention")
    const parts = { tensor, recurrence, rows, width, linear, again, normed: before }
    return added(x, DeltaNet.build(graph, config, parts, x, layer), layer, "afterAttention")
  }

  const attend = (x: Value, layer: number): Value => {
    const projections = again("elements", [x], () => projected(x, layer))
    const output = again("elements", projections, () => linear(mixed(projections, layer), layer, "o_proj"))
    return added(x, output, layer, "afterAttention")
  }

  /** x + W_down (act(W_gate x) * W_up x) */
  const feedForward = (x: Value, layer: number): Value => {
    const [gate, up] = again("elements", [x], () => {
      const input = normed(x, layer, "beforeMlp")
      if (config.isFused) return graph.split(linear(input, layer, "gate_up_proj"), 1, 2)
      return [linear(input, layer, "gate_proj"), linear(input, layer, "up_proj")]
    })
    const down = again("elements", [gate!, up!], () =>
      linear(Gate.apply(graph, config.activation, gate!, up!), layer, "down_proj")
    )
    return added(x, down, layer, "afterMlp")
  }

  const stack: Experts.Weights["stack"] = source.stack ?? ((name, shape) => Experts.stackOf(tensor(name, shape), true))
  const mixture = (x: Value, layer: number): Value =>
    added(
      x,
      Experts.build(graph, config, { tensor, stack }, normed(x, layer, "beforeMlp"), layer, routes),
      layer,
      "afterMlp"
    )

  const count = remat === "parts" ? feedForwardChunks : 1
  const whole = (x: Value, layer: number): Value => {
    const { isDelta, isMixture } = config.layerTraits[layer]!
    const after = (x: Value) =>
      isMixture ? mixture(x, layer) : inChunks(graph, x, count, (piece) => feedForward(piece, layer))
    // The attention result is stored, so what follows is recomputed from it; a delta rule's result is not stored.
    if (!isDelta) return again("parts", [x], () => after(attend(x, layer)))
    const remembered = again("parts", [x], () => remember(x, layer))
    return again("parts", [remembered], () => after(remembered))
  }

  const embedded = LowRank.embed(graph, embedding, inputIds, lowRank(Tensors.embeddingModule))
  let x = times(graph, graph.reshape(embedded, [tokens, hiddenSize]), config.embeddingScale)
  for (let layer = 0; layer < layers; layer++) x = whole(x, layer)
  return {
    hidden: times(graph, norm(x, Tensors.finalNorm, hiddenSize), config.logitScale),
    ...headOf(graph, config, source, embedding)
  }
}
