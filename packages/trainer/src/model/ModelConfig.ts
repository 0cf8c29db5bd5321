/**
 * What `config.json` of a Hugging Face model says about its architecture, for Llama (SmolLM too), Qwen2 (and 2.5) and
 * Qwen3.
 *
 * Everything that would change the numbers and is not built is refused by name; keys that do not matter are ignored.
 * RoPE's base and scaling are read from `rope_parameters` (transformers 5) or `rope_theta` and `rope_scaling` (before).
 */
import { Option, Result, Schema } from "effect"

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

export type RopeScaling = LinearScaling | Llama3Scaling

export type Architecture = "llama" | "qwen2" | "qwen3"

export interface ModelConfig {
  readonly architecture: Architecture
  readonly vocabSize: number
  /** H */
  readonly hiddenSize: number
  readonly layers: number
  readonly heads: number
  readonly kvHeads: number
  readonly headDim: number
  readonly intermediateSize: number
  readonly maxPositions: number
  readonly ropeTheta: number
  readonly ropeScaling: RopeScaling | undefined
  readonly normEpsilon: number
  readonly hasTiedHead: boolean
  /** Biases of the query, key and value projections. */
  readonly hasQkvBias: boolean
  readonly hasOutputBias: boolean
  readonly hasMlpBias: boolean
  /** Norms of queries and keys, per head (Qwen3). */
  readonly hasQkNorm: boolean
  readonly eosTokenIds: ReadonlyArray<number>
}

/** What weights and activations are made of. */
export type Shape = Pick<
  ModelConfig,
  "vocabSize" | "hiddenSize" | "intermediateSize" | "layers" | "heads" | "kvHeads" | "headDim" | "hasTiedHead"
>

const upTo = (most: number) => Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: most }))

/**
 * What a model of today has not come near, and a process still has room to name: an absurd size is refused here, before
 * lists of layers and tables are made of it.
 */
const most = { layers: 2048, heads: 4096, width: 2 ** 20, tokens: 2 ** 23, positions: 2 ** 30 } as const

const aboveZero = Schema.Finite.check(Schema.isGreaterThan(0))
const nullable = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const EndTokens = nullable(Schema.Union([Schema.Int, Schema.Array(Schema.Int)]))

const Rope = Schema.Struct({
  rope_type: Schema.optionalKey(Schema.String),
  type: Schema.optionalKey(Schema.String),
  rope_theta: nullable(aboveZero),
  factor: nullable(aboveZero),
  partial_rotary_factor: nullable(Schema.Finite),
  low_freq_factor: nullable(aboveZero),
  high_freq_factor: nullable(aboveZero),
  original_max_position_embeddings: nullable(upTo(most.positions))
})

const File = Schema.Struct({
  model_type: Schema.String,
  hidden_act: Schema.optionalKey(Schema.String),
  vocab_size: upTo(most.tokens),
  hidden_size: upTo(most.width),
  num_hidden_layers: upTo(most.layers),
  num_attention_heads: upTo(most.heads),
  num_key_value_heads: nullable(upTo(most.heads)),
  head_dim: nullable(upTo(most.width)),
  intermediate_size: upTo(most.width),
  max_position_embeddings: upTo(most.positions),
  rms_norm_eps: aboveZero,
  rope_theta: nullable(aboveZero),
  rope_scaling: nullable(Rope),
  rope_parameters: nullable(Rope),
  tie_word_embeddings: Schema.optionalKey(Schema.Boolean),
  attention_bias: Schema.optionalKey(Schema.Boolean),
  mlp_bias: Schema.optionalKey(Schema.Boolean),
  use_sliding_window: nullable(Schema.Boolean),
  layer_types: nullable(Schema.Array(Schema.String)),
  partial_rotary_factor: nullable(Schema.Finite),
  quantization_config: nullable(Schema.Unknown),
  eos_token_id: EndTokens
})
type File = typeof File.Type

const decode = Schema.decodeUnknownResult(File)
const named = Schema.decodeUnknownOption(Schema.Struct({ model_type: Schema.String }))

const decodeEnds = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct({ eos_token_id: EndTokens })))

const listed = (ids: number | ReadonlyArray<number> | null | undefined): ReadonlyArray<number> =>
  typeof ids === "number" ? [ids] : (ids ?? [])

/** What is wrong with tokens that are to end a sequence. */
export const strangerOf = (ids: ReadonlyArray<number>, vocabSize: number): string | undefined => {
  const stranger = ids.find((id) => id < 0 || id >= vocabSize)
  return stranger === undefined
    ? undefined
    : `eos_token_id ${stranger} is no token of a vocabulary of ${vocabSize} (0 to ${vocabSize - 1})`
}

const supported: ReadonlyArray<string> = ["llama", "qwen2", "qwen3"] satisfies ReadonlyArray<Architecture>

const isSupported = (name: string): name is Architecture => supported.includes(name)

const scalingOf = (rope: typeof Rope.Type, file: File): Result.Result<RopeScaling | undefined, string> => {
  const kind = rope.rope_type ?? rope.type ?? "default"
  if (kind === "default") return Result.succeed(undefined)
  const { factor, high_freq_factor: high, low_freq_factor: low } = rope
  if (kind === "linear") {
    return factor == null
      ? Result.fail("RoPE scaling linear needs a factor")
      : Result.succeed({ kind: "linear", factor })
  }
  if (kind !== "llama3") {
    return Result.fail(`RoPE scaling "${kind}" is not supported; supported are "default", "linear" and "llama3"`)
  }
  if (factor == null || high == null || low == null) {
    return Result.fail("RoPE scaling llama3 needs factor, low_freq_factor and high_freq_factor")
  }
  return Result.succeed({
    kind: "llama3",
    factor,
    lowFrequencyFactor: low,
    highFrequencyFactor: high,
    originalMaxPositions: rope.original_max_position_embeddings ?? file.max_position_embeddings
  })
}

/** What would change the numbers and is not built. */
const unsupported = (file: File): string | undefined => {
  if (file.quantization_config != null) return "quantized weights (quantization_config) cannot be trained on"
  if (file.use_sliding_window === true) return "sliding-window attention (use_sliding_window) is not supported"
  const layerType = file.layer_types?.find((type) => type !== "full_attention")
  if (layerType !== undefined) return `layers of type ${layerType} (layer_types) are not built`
  const rotated = file.rope_parameters?.partial_rotary_factor ?? file.partial_rotary_factor ?? 1
  if (rotated !== 1) return `rotating only part of each head (partial_rotary_factor ${rotated}) is not supported`
  if (file.hidden_act !== undefined && file.hidden_act !== "silu")
    return `the activation ${file.hidden_act} is not supported`
  return undefined
}

/** Reads the parsed file; the failure says what is wrong with it. */
export const parse = (json: unknown): Result.Result<ModelConfig, string> => {
  const name = Option.getOrUndefined(named(json))?.model_type
  if (name === undefined) return Result.fail('"model_type" is missing: this is no configuration of a model')
  if (!isSupported(name)) {
    return Result.fail(
      `the architecture "${name}" is not supported; supported are ${supported.join(", ")} (SmolLM is a llama)`
    )
  }
  const decoded = decode(json)
  if (Result.isFailure(decoded)) return Result.fail(decoded.failure.message)
  const file = decoded.success
  const problem = unsupported(file)
  if (problem !== undefined) return Result.fail(problem)
  const rope = file.rope_parameters ?? file.rope_scaling ?? {}
  const scaling = scalingOf(rope, file)
  if (Result.isFailure(scaling)) return Result.fail(scaling.failure)
  const heads = file.num_attention_heads
  const kvHeads = file.num_key_value_heads ?? heads
  const headDim = file.head_dim ?? file.hidden_size / heads
  if (!Number.isInteger(headDim) || headDim % 2 !== 0) {
    return Result.fail(`hidden_size ${file.hidden_size} and ${heads} heads give no even head_dim`)
  }
  if (heads % kvHeads !== 0) return Result.fail(`${heads} heads cannot share ${kvHeads} key-value heads`)
  const stranger = strangerOf(listed(file.eos_token_id), file.vocab_size)
  if (stranger !== undefined) return Result.fail(stranger)
  return Result.succeed({
    architecture: name,
    vocabSize: file.vocab_size,
    hiddenSize: file.hidden_size,
    layers: file.num_hidden_layers,
    heads,
    kvHeads,
    headDim,
    intermediateSize: file.intermediate_size,
    maxPositions: file.max_position_embeddings,
    ropeTheta: rope.rope_theta ?? file.rope_theta ?? 10_000,
    ropeScaling: scaling.success,
    normEpsilon: file.rms_norm_eps,
    hasTiedHead: file.tie_word_embeddings ?? false,
    hasQkvBias: name === "qwen2" || file.attention_bias === true,
    // Qwen2 has no bias there; the others' attention_bias covers it.
    hasOutputBias: name !== "qwen2" && file.attention_bias === true,
    hasMlpBias: file.mlp_bias === true,
    hasQkNorm: name === "qwen3",
    eosTokenIds: listed(file.eos_token_id)
  })
}

/** The tokens that end a sequence according to the text of `generation_config.json`, if it names any. */
export const endTokens = (text: string): Option.Option<ReadonlyArray<number>> =>
  Option.flatMap(decodeEnds(text), ({ eos_token_id }) =>
    eos_token_id == null ? Option.none() : Option.some(listed(eos_token_id))
  )

/** The file of a configuration, as transformers reads it. */
export const encode = (config: ModelConfig): { readonly [name: string]: unknown } => ({
  architectures: [
    { llama: "LlamaForCausalLM", qwen2: "Qwen2ForCausalLM", qwen3: "Qwen3ForCausalLM" }[config.architecture]
  ],
  model_type: config.architecture,
  hidden_act: "silu",
  vocab_size: config.vocabSize,
  hidden_size: config.hiddenSize,
  num_hidden_layers: config.layers,
  num_attention_heads: config.heads,
  num_key_value_heads: config.kvHeads,
  head_dim: config.headDim,
  intermediate_size: config.intermediateSize,
  max_position_embeddings: config.maxPositions,
  rms_norm_eps: config.normEpsilon,
  rope_theta: config.ropeTheta,
  ...(config.ropeScaling && {
    rope_scaling: {
      rope_type: config.ropeScaling.kind,
      factor: config.ropeScaling.factor,
      ...(config.ropeScaling.kind === "llama3" && {
        low_freq_factor: config.ropeScaling.lowFrequencyFactor,
        high_freq_factor: config.ropeScaling.highFrequencyFactor,
        original_max_position_embeddings: config.ropeScaling.originalMaxPositions
      })
    }
  }),
  tie_word_embeddings: config.hasTiedHead,
  ...(config.architecture !== "qwen2" && { attention_bias: config.hasQkvBias }),
  ...(config.architecture === "llama" && { mlp_bias: config.hasMlpBias }),
  ...(config.eosTokenIds.length > 0 && {
    eos_token_id: config.eosTokenIds.length === 1 ? config.eosTokenIds[0] : config.eosTokenIds
  }),
  torch_dtype: "float32"
})
