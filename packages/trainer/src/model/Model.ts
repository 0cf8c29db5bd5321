/**
 * A model: architecture, tokenizer, frozen weights and trainable parameters, for training, generation and saving.
 *
 * Either an adapter on frozen weights is trained, or everything. `policy` is the view for training graphs, `decodable`
 * that for the generation engine, `trainable` that for the trainer.
 */
import type { Tokenizer } from "@atropos/core"
import * as TokenizerIdentity from "@atropos/core/inference/tokenizer/TokenizerIdentity"
import type { Effect, FileSystem, Path } from "effect"
import type { Dim } from "../graph/Dim.ts"
import type { Graph } from "../graph/Graph.ts"
import * as QuantizedProduct from "../graph/QuantizedProduct.ts"
import * as QuantizedStack from "../graph/QuantizedStack.ts"
import type { Value } from "../graph/Value.ts"
import type { DecodableModel } from "./DecodableModel.ts"
import * as Decoder from "./Decoder.ts"
import type { Attention } from "./Decoder.ts"
import * as Experts from "./Experts.ts"
import * as Lora from "./Lora.ts"
import type { ModelConfig } from "./ModelConfig.ts"
import type { ModelError } from "./file/ModelError.ts"
import * as BlockAttention from "./BlockAttention.ts"
import * as PackedDelta from "./PackedDelta.ts"
import * as RoutedExperts from "./part/RoutedExperts.ts"
import type { Layout } from "./Parameters.ts"
import type { Policy, SharedIds, TrainableModel } from "./TrainableModel.ts"
import * as Weights from "./Weights.ts"
import * as Scores from "./part/Scores.ts"

/**
 * Attention for training: causal, over rows that may hold several consecutive sequences.
 * softmax(k Q Kᵀ) V, where a token sees itself and earlier tokens of its own segment and of its shared prompt, within
 * the window if any. All ids are int32 [B, T]; positions restart with every sequence.
 */
export const packedAttention = (graph: Graph, segmentIds: Value, positionIds: Value, shared?: SharedIds): Attention => {
  const [rows, width] = segmentIds.shape as [Dim, Dim]
  const asQuery = (ids: Value) => graph.reshape(ids, [rows, 1, 1, width, 1])
  const asKey = (ids: Value) => graph.reshape(ids, [rows, 1, 1, 1, width])
  const isOwn = Scores.isOwn(graph, asQuery(segmentIds), asKey(segmentIds), shared && asQuery(shared.promptIds))
  const biasOf = Scores.byWindow((window) =>
    graph.outside(() =>
      Scores.bias(graph, graph.and(isOwn, Scores.isVisible(graph, asQuery(positionIds), asKey(positionIds), window)))
    )
  )
  return ({ cap, scale, sinks, window }, queries, keys, values) => {
    const [, heads, , size] = queries.shape as [Dim, number, Dim, number]
    const kvHeads = keys.shape[1] as number
    const perKv = heads / kvHeads
    // Queries that share keys are stacked, so that keys are not repeated.
    const stacked = [rows, kvHeads, graph.dimMul(perKv, width)]
    const grouped = graph.reshape(graph.scale(queries, scale), [...stacked, size])
    const scores = Scores.capped(graph, graph.matmul(grouped, graph.transpose(keys, [0, 1, 3, 2])), cap)
    const visible = graph.add(graph.reshape(scores, [rows, kvHeads, perKv, width, width]), biasOf(window))
    const weights = graph.reshape(Scores.weights(graph, visible, sinks), [...stacked, width])
    return graph.reshape(graph.matmul(weights, values), [rows, heads, width, size])
  }
}

export interface Model {
  /** Folder or hub id; the base named in checkpoints. */
  readonly name: string
  /** Identity for checkpoints, if the name may mean another model elsewhere. Default: the name. */
  readonly identity?: string
  readonly config: ModelConfig
  readonly tokenizer: Tokenizer.TokenizerShape
  /** Frozen weights: everything except an adapter, or nothing. */
  readonly weights: Weights.Weights
  readonly layout: Layout
  readonly initial: Float32Array
  /**
   * Parameters that reproduce the model without its adapter; absent if zeros in every B do, or if everything is
   * trained.
   */
  readonly neutral?: Float32Array | undefined
  /** Absent if everything is trained. */
  readonly adapter: Lora.LoraSettings | undefined
  /** Writes trained parameters into a folder in a standard format: a PEFT adapter, or the whole model. */
  readonly write: (
    folder: string,
    parameters: Float32Array
  ) => Effect.Effect<void, ModelError, FileSystem.FileSystem | Path.Path>
}

type Graphed = Pick<Model, "weights" | "adapter">

/** Tensor source: trained parameters first, then frozen ones; each is added once per graph. */
export const source = (
  graph: Graph,
  { adapter, weights }: Graphed,
  trainable: (name: string) => Value | undefined,
  use: QuantizedProduct.Use = "learning"
): Decoder.Source => {
  const known = new Map<string, Value>()
  const products = new Map<string, (x: Value) => Value>()
  const tensor: Decoder.Source["tensor"] = (name) => {
    const found = known.get(name) ?? trainable(name)
    if (found !== undefined) return found
    // Loading has checked that every tensor exists, and only linear layers are quantized.
    const value = Weights.constant(graph, name, weights.get(name) as Weights.Tensor)
    known.set(name, value)
    return value
  }
  return {
    tensor,
    product: (x, name, shape) => {
      const matrix = weights.get(name)
      if (matrix === undefined || !Weights.isMatrix(matrix)) return graph.gemm(x, tensor(name, shape), false, true)
      const product = products.get(name) ?? QuantizedProduct.make(graph, { ...matrix, name }, use)
      products.set(name, product)
      return product(x)
    },
    stack: (name, shape) => {
      const matrix = weights.get(name)
      return matrix === undefined || !Weights.isMatrix(matrix)
        ? Experts.stackOf(tensor(name, shape), trainable(name) !== undefined)
        : QuantizedStack.make(graph, { ...matrix, name }, shape)
    },
    lowRank: (module) => {
      const a = trainable(Lora.nameOf(module, "A"))
      const b = trainable(Lora.nameOf(module, "B"))
      return adapter === undefined || a === undefined || b === undefined
        ? undefined
        : { a, b, scale: Lora.scaleOf(adapter), magnitude: trainable(Lora.magnitudeOf(module)) }
    }
  }
}

/** Sizes of quantized weights for `MemoryPlan`. */
const roundedOf = (weights: Weights.Weights): Pick<TrainableModel, "rounded"> => {
  const matrices = [...weights.values()].filter(Weights.isMatrix)
  if (matrices.length === 0) return {}
  const bytes = weights.values().reduce((sum, weight) => sum + Weights.bytesOf(weight), 0)
  const atOnce = matrices.map((matrix) => Weights.elementsOf(matrix) / (matrix.experts ?? 1))
  return { rounded: { bytes, largest: Math.max(...atOnce) } }
}

type Built = Pick<Model, "config" | "weights" | "adapter" | "layout">

/** The choices of each mixture, (N, k), from those of all, (B, T, L, k). */
const givenOf =
  (graph: Graph, routed: Value) =>
  (mixture: number): Value => {
    const [rows, width, , perToken] = routed.shape as [Dim, Dim, number, number]
    const own = graph.slice(routed, 2, mixture, mixture + 1)
    return graph.cast(graph.reshape(own, [graph.dimMul(rows, width), perToken]), "int64")
  }

export const policy = (model: Built): Policy => ({
  layout: model.layout,
  routing: RoutedExperts.routingOf(model.config),
  // A recurrence's state after a prompt would have to be copied to each sequence.
  sharesPrompts: model.config.delta === undefined,
  build: (
    graph,
    trainable,
    { attention, inputIds, feedForwardChunks, positionIds, remat, routedExperts, segmentIds, shared }
  ) =>
    Decoder.build(graph, model.config, source(graph, model, trainable), {
      inputIds,
      positionIds,
      attention:
        attention === "blocks"
          ? BlockAttention.make(graph, segmentIds, positionIds, model.config.heads, { shared })
          : packedAttention(graph, segmentIds, positionIds, shared),
      ...(model.config.delta && { recurrence: PackedDelta.make(graph, segmentIds, positionIds) }),
      remat,
      feedForwardChunks,
      ...(routedExperts && { routes: { input: givenOf(graph, routedExperts) } })
    })
})

export const decodable = (model: Built): DecodableModel => ({
  config: model.config,
  layout: model.layout,
  build: (graph, trainable, inputs) =>
    Decoder.build(graph, model.config, source(graph, model, trainable, "sampling"), inputs)
})

export const trainable = (model: Model): TrainableModel => ({
  ...roundedOf(model.weights),
  name: model.identity ?? model.name,
  policy: policy(model),
  tokenizer: TokenizerIdentity.of(model.tokenizer),
  vocabSize: model.config.vocabSize,
  hiddenSize: model.config.hiddenSize,
  shape: model.config,
  maxPositions: model.config.maxPositions,
  initial: model.initial,
  ...(model.neutral !== undefined && { neutral: model.neutral }),
  writeWeights: model.write
})
