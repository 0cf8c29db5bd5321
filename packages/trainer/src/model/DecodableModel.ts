/**
 * A model as the engine sees it: the decoder's graph over a cache, and the parameters that come in with each version.
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
  /** The parameters that come in with each version. */
  readonly layout: Layout
  /** The decoder; `trainable` gives the parameters of the layout by name, undefined for frozen ones. */
  readonly build: (
    graph: Graph,
    trainable: (name: string) => Value | undefined,
    inputs: Decoder.Inputs
  ) => Decoder.Outputs
}
