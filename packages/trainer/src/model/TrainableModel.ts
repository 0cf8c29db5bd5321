/** Interface of a model for the trainer: a training graph, initial values, and a function that writes them. */
import type { TokenizerIdentity } from "@atropos/core/inference/tokenizer/TokenizerIdentity"
import type { Effect, FileSystem, Path } from "effect"
import type { Graph } from "../graph/Graph.ts"
import type { Value } from "../graph/Value.ts"
import type { Outputs, Remat } from "./Decoder.ts"
import type { Shape } from "./ModelConfig.ts"
import type { Layout } from "./Parameters.ts"
import type { Routing } from "./part/RoutedExperts.ts"

export interface Policy {
  readonly layout: Layout
  readonly routing?: Routing | undefined
  /**
   * Builds final hidden states (B*T, H) and the output matrix (V, H). `trainable` returns the layout's parameters by
   * name, undefined for frozen ones. Tokens only see earlier tokens of their own segment and of their shared prompt.
   */
  /** True if `build` takes `shared`. */
  readonly sharesPrompts?: boolean
  readonly build: (graph: Graph, trainable: (name: string) => Value | undefined, ids: PolicyIds) => PolicyValues
}

/** Attention implementation: over whole rows (`PackedAttention`), or in blocks (`BlockAttention`). */
export type AttentionKind = "rows" | "blocks"

/** int32, (B, T), as in `SharedArrays`. */
export interface SharedIds {
  readonly promptIds: Value
  readonly begins: Value
}

/** int32, (B, T). */
export interface PolicyIds {
  readonly inputIds: Value
  readonly positionIds: Value
  readonly segmentIds: Value
  /** Of rows that hold the prompt of several sequences once; absent: of rows of whole sequences. */
  readonly shared?: SharedIds | undefined
  /** Values that the backward pass recomputes; true: whole parts. */
  readonly remat: boolean | Remat
  readonly attention: AttentionKind
  /** Number of chunks of B*T for feed-forward blocks; must divide it. Default: 1. */
  readonly feedForwardChunks?: number | undefined
  /** Expert choices per position, int32 (B, T, L, k), `RoutedExperts.unknown` if the router chooses. */
  readonly routedExperts?: Value | undefined
}

export type PolicyValues = Outputs

export interface TrainableModel {
  /** Folder or hub id; a checkpoint of another model is rejected. */
  readonly name: string
  readonly policy: Policy
  /** Identity of its tokenizer; absent for a model without one. */
  readonly tokenizer?: TokenizerIdentity
  readonly vocabSize: number
  readonly hiddenSize: number
  /** For memory estimates; without it whole parts are recomputed. */
  readonly shape?: Shape
  /** For frozen weights in 8 or 4 bits: the bytes of all weights, and the elements of the largest matrix. */
  readonly rounded?: { readonly bytes: number; readonly largest: number }
  /** Max sequence length, tokens. */
  readonly maxPositions: number
  /** Initial values of the layout's parameters, deterministic by seed. */
  readonly initial: Float32Array
  /** Values with which an adapter changes nothing, if zeros in every B are not enough. */
  readonly neutral?: Float32Array
  /** Writes the parameters into a folder in a standard format: a PEFT adapter, or a model. */
  readonly writeWeights: (
    folder: string,
    parameters: Float32Array
  ) => Effect.Effect<void, { readonly message: string }, FileSystem.FileSystem | Path.Path>
}
