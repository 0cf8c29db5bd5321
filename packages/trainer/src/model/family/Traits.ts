/**
 * Traits that distinguish decoders: sizes, norm places, position encodings, attention spans, scale factors. `Families`
 * reads them from `config.json`; `Decoder` builds exactly these.
 */

export interface LinearScaling {
  readonly kind: "linear"
  readonly factor: number
}

/** Scaled frequencies of Llama 3.1 (transformers, `modeling_rope_utils.py`, `_compute_llama3_parameters`). */
export interface Llama3Scaling {
  readonly kind: "llama3"
  readonly factor: number
  readonly lowFrequencyFactor: number
  readonly highFrequencyFactor: number
  readonly originalMaxPositions: number
}

/** Slow frequencies divided, fast ones kept, a ramp in between (Peng et al. 2023, 2309.00071). */
export interface YarnScaling {
  readonly kind: "yarn"
  readonly factor: number
  readonly betaFast: number
  readonly betaSlow: number
  readonly originalMaxPositions: number
  /** True if the ends of the ramp are rounded to integers. */
  readonly truncates: boolean
  /** Multiplies cosines and sines. */
  readonly magnitude: number
}

/** A factor per frequency, different beyond the original length (Ding et al. 2024, 2402.13753). */
export interface LongScaling {
  readonly kind: "longrope"
  readonly short: ReadonlyArray<number>
  readonly long: ReadonlyArray<number>
  readonly originalMaxPositions: number
  readonly magnitude: number
}

export type RopeScaling = LinearScaling | Llama3Scaling | YarnScaling | LongScaling

export interface Rope {
  readonly theta: number
  /** Number of rotated elements at the start of each head. */
  readonly width: number
  readonly scaling: RopeScaling | undefined
}

/**
 * A layer that mixes tokens by a fixed-size state instead of attention: the gated delta rule (Yang et al. 2024,
 * 2412.06464) over queries, keys and values after a short causal convolution.
 */
export interface DeltaTraits {
  /** Each serves valueHeads / keyHeads value heads. */
  readonly keyHeads: number
  readonly valueHeads: number
  readonly keyDim: number
  readonly valueDim: number
  /** Tokens that the convolution sees, including the current one. */
  readonly kernel: number
}

/** Queries at position p are multiplied by 1 + by log(1 + floor(p / every)): 1 for the first `every` positions. */
export interface QueryGrowth {
  readonly by: number
  readonly every: number
}

export interface LayerTraits {
  /** A token sees itself and the `window - 1` before it; absent: all before it. */
  readonly window: number | undefined
  /** Index in `ropes`; absent: no position encoding. */
  readonly rope: number | undefined
  readonly isDelta: boolean
  readonly isMixture: boolean
}

/** A feed-forward block in which a router chooses a few experts per token. */
export interface Mixture {
  readonly experts: number
  readonly perToken: number
  /** Per expert. */
  readonly intermediateSize: number
  /** True if the chosen experts' softmax weights are normalized to sum to 1. */
  readonly isNormed: boolean
  /**
   * gpt-oss: weights of all experts in one tensor, [E, in, out], gate and up alternating, with biases, also on the
   * router; the gate is x sigmoid(alpha x) of values up to `limit`, and 1 is added to up.
   */
  readonly joint?: { readonly alpha: number; readonly limit: number } | undefined
}

/** Before each part; after it; both. */
export type NormPlaces = "before" | "after" | "around"

export type Activation = "silu" | "gelu_tanh"

export interface ModelConfig {
  /** `model_type` */
  readonly architecture: string
  /** `model_type` of the multimodal model that this is the text part of (`TextPart`), if any. */
  readonly textOf: string | undefined
  readonly vocabSize: number
  /** H */
  readonly hiddenSize: number
  readonly layers: number
  readonly heads: number
  readonly kvHeads: number
  readonly headDim: number
  readonly intermediateSize: number
  readonly maxPositions: number
  readonly normEpsilon: number
  readonly hasTiedHead: boolean
  readonly hasQkvBias: boolean
  readonly hasOutputBias: boolean
  readonly hasMlpBias: boolean
  readonly norms: NormPlaces
  /** Added to the weights of norms. */
  readonly normOffset: number
  /** Norms of queries and keys: of each head, or of all heads together. */
  readonly qkNorm: "heads" | "width" | undefined
  /** Query, key and value are one linear layer, gate and up another. */
  readonly isFused: boolean
  readonly activation: Activation
  /** Multiplies the attention scores. */
  readonly attentionScale: number
  /** Scores s become c tanh(s / c). */
  readonly attentionCap: number | undefined
  /** Attention sinks: each head has an additional score without a value. */
  readonly hasSinks: boolean
  /** Each head's output is multiplied by the sigmoid of a gate projected with the queries. */
  readonly hasOutputGate: boolean
  readonly embeddingScale: number
  /** Multiplies the output of each part before it is added. */
  readonly residualScale: number
  readonly logitScale: number
  readonly logitCap: number | undefined
  readonly ropes: ReadonlyArray<Rope>
  readonly queryGrowth: QueryGrowth | undefined
  readonly layerTraits: ReadonlyArray<LayerTraits>
  readonly mixture: Mixture | undefined
  readonly delta: DeltaTraits | undefined
  readonly eosTokenIds: ReadonlyArray<number>
  /** The configuration as read; numbers of a file as kept by `NumberText`. */
  readonly file: { readonly [key: string]: unknown }
}

export type Shape = Pick<
  ModelConfig,
  "vocabSize" | "hiddenSize" | "intermediateSize" | "layers" | "heads" | "kvHeads" | "headDim" | "hasTiedHead"
> &
  Partial<Pick<ModelConfig, "mixture" | "layerTraits" | "delta" | "hasOutputGate">>
