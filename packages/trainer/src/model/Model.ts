/**
 * A model: its architecture, tokenizer, frozen weights and trainable parameters; one value for training, generation and
 * saving.
 *
 * Trained is either an adapter on frozen weights, or everything. `policy` is the model as training graphs see it,
 * `decodable` as the generation engine does, `trainable` as the trainer does.
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
import * as Experts from "./Experts.ts"
import * as Lora from "./Lora.ts"
import type { ModelConfig } from "./ModelConfig.ts"
import type { ModelError } from "./ModelError.ts"
import * as BlockAttention from "./BlockAttention.ts"
import * as PackedAttention from "./PackedAttention.ts"
import * as PackedDelta from "./PackedDelta.ts"
import * as RoutedExperts from "./part/RoutedExperts.ts"
import type { Layout } from "./Parameters.ts"
import type { Policy, TrainableModel } from "./TrainableModel.ts"
import * as Weights from "./Weights.ts"

export interface Model {
  /** Folder or hub id; what checkpoints name as their base. */
  readonly name: string
  /** What checkpoints belong to, where the same name may mean another model elsewhere. Default: the name. */
  readonly identity?: string
  readonly config: ModelConfig
  readonly tokenizer: Tokenizer.TokenizerShape
  /** What is not trained: everything beside an adapter, or nothing. */
  readonly weights: Weights.Weights
  /** The trained parameters. */
  readonly layout: Layout
  readonly initial: Float32Array
  /**
   * Parameters with which the model is the one without its adapter; absent where zeros in every B make it so, and where
   * everything is trained.
   */
  readonly neutral?: Float32Array | undefined
  /** Absent where everything is trained. */
  readonly adapter: Lora.LoraSettings | undefined
  /** Writes trained parameters into a folder in the form that others load: a PEFT adapter, or the whole model. */
  readonly write: (
    folder: string,
    parameters: Float32Array
  ) => Effect.Effect<void, ModelError, FileSystem.FileSystem | Path.Path>
}

type Graphed = Pick<Model, "weights" | "adapter">

/** Tensors from the trained parameters first, then from the frozen ones; each once in a graph. */
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
    // Loading has checked that every tensor of the architecture is there, and has rounded none but linear layers'.
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

/** What `MemoryPlan` has to know of weights in fewer bits. */
const roundedOf = (weights: Weights.Weights): Pick<TrainableModel, "rounded"> => {
  const matrices = [...weights.values()].filter(Weights.isMatrix)
  if (matrices.length === 0) return {}
  const bytes = weights.values().reduce((sum, weight) => sum + Weights.bytesOf(weight), 0)
  const atOnce = matrices.map((matrix) => Weights.elementsOf(matrix) / (matrix.experts ?? 1))
  return { rounded: { bytes, largest: Math.max(...atOnce) } }
}

/** What a graph is built from. */
type Built = Pick<Model, "config" | "weights" | "adapter" | "layout">

/** The choices of each mixture, (N, k), of those of all, (B, T, L, k). */
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
  build: (graph, trainable, { attention, inputIds, pieces, positionIds, remat, routedExperts, segmentIds }) =>
    Decoder.build(graph, model.config, source(graph, model, trainable), {
      inputIds,
      positionIds,
      attention:
        attention === "blocks"
          ? BlockAttention.make(graph, segmentIds, positionIds, model.config.heads)
          : PackedAttention.make(graph, segmentIds, positionIds),
      ...(model.config.delta && { recurrence: PackedDelta.make(graph, segmentIds, positionIds) }),
      remat,
      pieces,
      ...(routedExperts && { routes: { given: givenOf(graph, routedExperts) } })
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
