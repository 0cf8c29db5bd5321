/** The configuration of a model of the shape of Qwen2.5-0.5B, as its folder has it. */
export const file = {
  model_type: "qwen2",
  architectures: ["Qwen2ForCausalLM"],
  hidden_act: "silu",
  vocab_size: 151_936,
  hidden_size: 896,
  num_hidden_layers: 24,
  num_attention_heads: 14,
  num_key_value_heads: 2,
  intermediate_size: 4864,
  max_position_embeddings: 32_768,
  rms_norm_eps: 1e-6,
  rope_theta: 1e6,
  tie_word_embeddings: true,
  eos_token_id: 0
}
