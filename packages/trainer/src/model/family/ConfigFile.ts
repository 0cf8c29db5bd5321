/** Schema of a Hugging Face model's `config.json`: the keys that affect the numbers. */
import { Schema } from "effect"

const upTo = (max: number) => Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: max }))

/**
 * Limits far above current models but still representable: absurd sizes are rejected here, before lists and tables of
 * that size are created.
 */
const max = {
  layers: 2048,
  heads: 4096,
  width: 2 ** 20,
  tokens: 2 ** 23,
  positions: 2 ** 30,
  experts: 4096,
  kernel: 64
} as const

const aboveZero = Schema.Finite.check(Schema.isGreaterThan(0))
const nullable = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

export const EndTokens = nullable(Schema.Union([Schema.Int, Schema.Array(Schema.Int)]))

const ropeFields = {
  rope_type: nullable(Schema.String),
  type: nullable(Schema.String),
  rope_theta: nullable(aboveZero),
  factor: nullable(aboveZero),
  partial_rotary_factor: nullable(Schema.Finite),
  low_freq_factor: nullable(aboveZero),
  high_freq_factor: nullable(aboveZero),
  original_max_position_embeddings: nullable(upTo(max.positions)),
  attention_factor: nullable(aboveZero),
  beta_fast: nullable(aboveZero),
  beta_slow: nullable(aboveZero),
  mscale: nullable(Schema.Finite),
  mscale_all_dim: nullable(Schema.Finite),
  truncate: nullable(Schema.Boolean),
  llama_4_scaling_beta: nullable(Schema.Finite),
  short_factor: nullable(Schema.Array(aboveZero)),
  long_factor: nullable(Schema.Array(aboveZero)),
  mrope_section: nullable(Schema.Unknown)
} as const

const RopeFile = Schema.Struct(ropeFields)
export type RopeFile = typeof RopeFile.Type

/** For all layers, or by layer type. */
const RopesFile = Schema.Struct({
  ...ropeFields,
  full_attention: nullable(RopeFile),
  sliding_attention: nullable(RopeFile)
})

export const ConfigFile = Schema.Struct({
  model_type: Schema.String,
  hidden_act: nullable(Schema.String),
  hidden_activation: nullable(Schema.String),
  vocab_size: upTo(max.tokens),
  hidden_size: upTo(max.width),
  num_hidden_layers: upTo(max.layers),
  num_attention_heads: upTo(max.heads),
  num_key_value_heads: nullable(upTo(max.heads)),
  head_dim: nullable(upTo(max.width)),
  intermediate_size: upTo(max.width),
  max_position_embeddings: upTo(max.positions),
  rms_norm_eps: aboveZero,
  rope_theta: nullable(aboveZero),
  rope_local_base_freq: nullable(aboveZero),
  rope_scaling: nullable(RopeFile),
  rope_parameters: nullable(RopesFile),
  original_max_position_embeddings: nullable(upTo(max.positions)),
  partial_rotary_factor: nullable(Schema.Finite),
  tie_word_embeddings: nullable(Schema.Boolean),
  attention_bias: nullable(Schema.Boolean),
  mlp_bias: nullable(Schema.Boolean),
  use_sliding_window: nullable(Schema.Boolean),
  sliding_window: nullable(upTo(max.positions)),
  sliding_window_pattern: nullable(upTo(max.layers)),
  max_window_layers: nullable(Schema.Int),
  layer_types: nullable(Schema.Array(Schema.String)),
  no_rope_layers: nullable(Schema.Array(Schema.Union([Schema.Int, Schema.Boolean]))),
  no_rope_layer_interval: nullable(upTo(max.layers)),
  use_bidirectional_attention: nullable(Schema.Unknown),
  query_pre_attn_scalar: nullable(aboveZero),
  attn_logit_softcapping: nullable(aboveZero),
  final_logit_softcapping: nullable(aboveZero),
  embedding_multiplier: nullable(Schema.Finite),
  residual_multiplier: nullable(Schema.Finite),
  attention_multiplier: nullable(Schema.Finite),
  logits_scaling: nullable(aboveZero),
  num_experts: nullable(upTo(max.experts)),
  num_local_experts: nullable(upTo(max.experts)),
  num_experts_per_tok: nullable(upTo(max.experts)),
  moe_intermediate_size: nullable(upTo(max.width)),
  norm_topk_prob: nullable(Schema.Boolean),
  swiglu_alpha: nullable(aboveZero),
  swiglu_limit: nullable(aboveZero),
  linear_num_key_heads: nullable(upTo(max.heads)),
  linear_num_value_heads: nullable(upTo(max.heads)),
  linear_key_head_dim: nullable(upTo(max.width)),
  linear_value_head_dim: nullable(upTo(max.width)),
  linear_conv_kernel_dim: nullable(upTo(max.kernel)),
  full_attention_interval: nullable(upTo(max.layers)),
  decoder_sparse_step: nullable(upTo(max.layers)),
  mlp_only_layers: nullable(Schema.Array(Schema.Int)),
  quantization_config: nullable(Schema.Unknown),
  eos_token_id: EndTokens
})
export type ConfigFile = typeof ConfigFile.Type

export const decode = Schema.decodeUnknownResult(ConfigFile)
