/** A model as the trainer sees it: a graph to learn through, the values to start from, and a way to write them down. */
import type { TokenizerIdentity } from "@atropos/core/inference/tokenizer/TokenizerIdentity"
import type { Effect, FileSystem, Path } from "effect"
import type { Graph } from "../graph/Graph.ts"
import type { Value } from "../graph/Value.ts"
import type { Outputs, Remat } from "./Decoder.ts"
import type { Shape } from "./ModelConfig.ts"
import type { Layout } from "./Parameters.ts"
import type { Routing } from "./part/RoutedExperts.ts"

/** A model as a training graph needs it. */
export interface Policy {
  /** The trainable parameters, in one vector. */
  readonly layout: Layout
  /** Of a model with mixtures of experts. */
  readonly routing?: Routing | undefined
  /**
   * Final hidden states (B*T, H) and the output matrix (V, H). `trainable` gives the parameters of the layout by name,
   * undefined for frozen ones. Tokens see earlier tokens of their own segment alone.
   */
  readonly build: (graph: Graph, trainable: (name: string) => Value | undefined, ids: PolicyIds) => PolicyValues
}

/** How attention is computed: over whole rows at once (`PackedAttention`), or in blocks (`BlockAttention`). */
export type AttentionKind = "rows" | "blocks"

/** int32, (B, T). */
export interface PolicyIds {
  readonly inputIds: Value
  readonly positionIds: Value
  readonly segmentIds: Value
  /** What the backward pass computes again; true: whole parts. */
  readonly remat: boolean | Remat
  readonly attention: AttentionKind
  /** Pieces of B*T that feed-forward parts go in; must divide it. Default: 1. */
  readonly pieces?: number | undefined
  /** The experts that each position is to pass, int32 (B, T, L, k), `RoutedExperts.unknown` where it may choose. */
  readonly routedExperts?: Value | undefined
}

export type PolicyValues = Outputs

export interface TrainableModel {
  /** Folder or hub id; a checkpoint of another model is refused. */
  readonly name: string
  readonly policy: Policy
  /** What ids mean to it; absent for a model without a tokenizer. */
  readonly tokenizer?: TokenizerIdentity
  readonly vocabSize: number
  readonly hiddenSize: number
  /** What the graph's memory is estimated from; without it whole parts are computed again. */
  readonly shape?: Shape
  /** Of frozen weights in 8 or 4 bits: the bytes of all weights, and the elements of the largest matrix. */
  readonly rounded?: { readonly bytes: number; readonly largest: number }
  /** Longest sequence it is made for, tokens. */
  readonly maxPositions: number
  /** Values of the layout's parameters before the first update; equal seeds give equal values. */
  readonly initial: Float32Array
  /** Values with which an adapter changes nothing, where zeros in every B are not enough. */
  readonly neutral?: Float32Array
  /** Writes the parameters into a folder in the form that others load: a PEFT adapter, or a model. */
  readonly writeWeights: (
    folder: string,
    parameters: Float32Array
  ) => Effect.Effect<void, { readonly message: string }, FileSystem.FileSystem | Path.Path>
}
