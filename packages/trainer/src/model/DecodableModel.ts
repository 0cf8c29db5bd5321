/**
 * Interface of a model for the engine: the decoder's graph over a cache, and the parameters supplied with each version.
 */
import type { Graph } from "../graph/Graph.ts"
import type { Value } from "../graph/Value.ts"
import type * as Decoder from "./Decoder.ts"
import type { ModelConfig } from "./ModelConfig.ts"
import type { Layout } from "./Parameters.ts"

export interface DecodableModel {
  readonly config: Pick<
    ModelConfig,
    "layers" | "kvHeads" | "headDim" | "vocabSize" | "maxPositions" | "layerTraits" | "mixture" | "delta"
  >
  readonly layout: Layout
  /** Builds the decoder; `trainable` returns the layout's parameters by name, undefined for frozen ones. */
  readonly build: (
    graph: Graph,
    trainable: (name: string) => Value | undefined,
    inputs: Decoder.Inputs
  ) => Decoder.Outputs
}
