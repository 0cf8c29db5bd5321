/**
 * What tells one decoder from another: sizes, where norms stand, how positions are told, what a layer sees, which
 * numbers multiply. `Families` makes it from `config.json`; `Decoder` builds exactly this.
 */

/** All frequencies divided by a factor. */
export interface LinearScaling {
  readonly kind: "linear"
  readonly factor: number
}

/** Stretched frequencies of Llama 3.1 (transformers, `modeling_rope_utils.py`, `_compute_llama3_parameters`). */
export interface Llama3Scaling {
  readonly kind: "llama3"
  readonly factor: number
  readonly lowFrequencyFactor: number
  readonly highFrequencyFactor: number
  readonly originalMaxPositions: number
}

/** Slow frequencies divided, fast ones kept, a ramp between them (Peng et al. 2023, 2309.00071). */
export interface YarnScaling {
  readonly kind: "yarn"
  readonly factor: number
  readonly betaFast: number
  readonly betaSlow: number
  readonly originalMaxPositions: number
  /** Whether the ends of the ramp are whole numbers. */
  readonly truncates: boolean
  /** Multiplies cosines and sines. */
  readonly magnitude: number
}

/** A factor for each frequency, others beyond the original length (Ding et al. 2024, 2402.13753). */
export interface LongScaling {
  readonly kind: "longrope"
  readonly short: ReadonlyArray<number>
  readonly long: ReadonlyArray<number>
  readonly originalMaxPositions: number
  readonly magnitude: number
}

export type RopeScaling = LinearScaling | Llama3Scaling | YarnScaling | LongScaling

/** Rotary positions of some layers. */
export interface Rope {
  readonly theta: number
  /** Of each head, the first so many elements are rotated. */
  readonly width: number
  readonly scaling: RopeScaling | undefined
}

/**
 * A layer that mixes tokens by a state of fixed size instead of attention: the gated delta rule (Yang et al. 2024,
 * 2412.06464) over queries, keys and values that a short causal convolution has passed.
 */
export interface DeltaTraits {
  /** Each serves as many heads of values as there are more of those. */
  readonly keyHeads: number
  readonly valueHeads: number
  readonly keyDim: number
  readonly valueDim: number
  /** Tokens that the convolution sees, the present one among them. */
  readonly kernel: number
}

/** Queries at position p are multiplied by 1 + by log(1 + floor(p / every)): 1 for the first `every` positions. */
export interface QueryGrowth {
  readonly by: number
  readonly every: number
}

export interface LayerTraits {
  /** A token sees itself and the `window - 1` before it; all before it where absent. */
  readonly window: number | undefined
  /** Which of `ropes`; where absent, positions are not told. */
  readonly rope: number | undefined
  /** Tokens are mixed by the gated delta rule, not by attention. */
  readonly isDelta: boolean
  /** The feed-forward part is a mixture of experts. */
  readonly isMixture: boolean
}

/** A feed-forward part of which each token passes the few experts that a router chooses. */
export interface Mixture {
  readonly experts: number
  readonly perToken: number
  /** Of each expert. */
  readonly intermediateSize: number
  /** The chosen experts' results are weighed by the softmax over all experts, made to sum to 1 or not. */
  readonly isNormed: boolean
  /**
   * As gpt-oss has them: weights of all experts in one tensor, [E, in, out], gate and up alternating, with biases, as
   * the router has one; the gate is x sigmoid(alpha x) of values up to `limit`, and 1 is added to up.
   */
  readonly joint?: { readonly alpha: number; readonly limit: number } | undefined
}

/** Before each part; after it; both. */
export type NormPlaces = "before" | "after" | "around"

export type Activation = "silu" | "gelu_tanh"

export interface ModelConfig {
  /** `model_type` */
  readonly architecture: string
  /** `model_type` of the model of text and pictures that it is the part for text of (`TextPart`), if it is one. */
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
  /** Biases of the query, key and value projections. */
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
  /** Multiplies the scores of attention. */
  readonly attentionScale: number
  /** Scores s become c tanh(s / c). */
  readonly attentionCap: number | undefined
  /** Each head has a score of its own beside those of tokens, to which attention may go and bring nothing. */
  readonly hasSinks: boolean
  /** Queries bring a gate with them: what a head gives is multiplied by its sigmoid. */
  readonly hasOutputGate: boolean
  readonly embeddingScale: number
  /** Multiplies what each part adds. */
  readonly residualScale: number
  readonly logitScale: number
  readonly logitCap: number | undefined
  readonly ropes: ReadonlyArray<Rope>
  readonly queryGrowth: QueryGrowth | undefined
  /** One for each layer. */
  readonly layerTraits: ReadonlyArray<LayerTraits>
  readonly mixture: Mixture | undefined
  /** Of the layers that have no attention. */
  readonly delta: DeltaTraits | undefined
  readonly eosTokenIds: ReadonlyArray<number>
  /** The configuration as it was read, numbers of a file as `NumberText` keeps them. */
  readonly file: { readonly [key: string]: unknown }
}

/** What weights and activations are made of. */
export type Shape = Pick<
  ModelConfig,
  "vocabSize" | "hiddenSize" | "intermediateSize" | "layers" | "heads" | "kvHeads" | "headDim" | "hasTiedHead"
> &
  Partial<Pick<ModelConfig, "mixture" | "layerTraits" | "delta" | "hasOutputGate">>
