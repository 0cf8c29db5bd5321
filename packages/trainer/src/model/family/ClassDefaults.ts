/**
 * Defaults of transformers' configuration classes for keys missing in a file, for architectures whose published files
 * omit many.
 */

export const gemma = {
  hidden_activation: "gelu_pytorch_tanh",
  tie_word_embeddings: true,
  rms_norm_eps: 1e-6,
  head_dim: 256
} as const

/** From transformers' `Gemma3TextConfig`: published files of 4B, 12B and 27B omit most of it. */
export const gemma3 = {
  ...gemma,
  vocab_size: 262_208,
  hidden_size: 2304,
  intermediate_size: 9216,
  num_hidden_layers: 26,
  num_attention_heads: 8,
  num_key_value_heads: 4,
  max_position_embeddings: 131_072,
  eos_token_id: 1,
  rope_theta: 1e6,
  sliding_window: 4096
} as const

/** From transformers' `MistralConfig`. */
export const mistral = {
  vocab_size: 32_000,
  hidden_size: 4096,
  intermediate_size: 14_336,
  num_hidden_layers: 32,
  num_attention_heads: 32,
  num_key_value_heads: 8,
  max_position_embeddings: 131_072,
  rms_norm_eps: 1e-6,
  eos_token_id: 2,
  sliding_window: 4096
} as const

/** From transformers' `Ministral3Config`. */
export const ministral3 = {
  vocab_size: 131_072,
  hidden_size: 4096,
  intermediate_size: 14_336,
  num_hidden_layers: 34,
  num_attention_heads: 32,
  num_key_value_heads: 8,
  head_dim: 128,
  max_position_embeddings: 262_144,
  rms_norm_eps: 1e-5,
  eos_token_id: 2,
  rope_scaling: {
    rope_type: "yarn",
    rope_theta: 1e6,
    factor: 16,
    original_max_position_embeddings: 16_384,
    beta_fast: 32,
    beta_slow: 1,
    mscale: 1,
    mscale_all_dim: 1,
    llama_4_scaling_beta: 0.1
  }
} as const
