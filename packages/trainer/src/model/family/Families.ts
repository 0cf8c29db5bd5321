/**
 * Declares the architectures by `model_type`: how each reads its configuration and differs from a Llama. A new
 * architecture covered by `Traits` is only added here, with a fixture (`scripts/make-architecture-fixtures.py`); see
 * docs/models.md.
 */
import * as ClassDefaults from "./ClassDefaults.ts"
import type { ConfigFile } from "./ConfigFile.ts"
import type { ModelConfig } from "./Traits.ts"

type Own = Partial<
  Pick<
    ModelConfig,
    | "hasQkvBias"
    | "hasOutputBias"
    | "hasMlpBias"
    | "norms"
    | "normOffset"
    | "qkNorm"
    | "isFused"
    | "attentionScale"
    | "attentionCap"
    | "hasSinks"
    | "hasOutputGate"
    | "embeddingScale"
    | "residualScale"
    | "logitScale"
    | "logitCap"
    | "mixture"
    | "delta"
    | "queryGrowth"
  >
>

export interface Family {
  /** Well-known models, for docs and messages. */
  readonly models: string
  readonly className: string
  /** Values of keys that published files omit. */
  readonly defaults?: { readonly [key: string]: unknown }
  readonly own: (file: ConfigFile) => Own
  /** True if a layer has a sliding window; default: none does. */
  readonly slides?: (file: ConfigFile, layer: number) => boolean
  /** True if `layer_types` of the file determines which layers have a window. */
  readonly readsLayerTypes?: boolean
  /** Default RoPE base of layers with a window, if they have their own rotary positions. */
  readonly slidingTheta?: (file: ConfigFile) => number
  /** True if a layer has the gated delta rule instead of attention; default: none has. */
  readonly isDelta?: (file: ConfigFile, layer: number) => boolean
  /** True if image positions (`mrope_section`) equal text positions without images. */
  readonly ignoresPictures?: boolean
  /** True if `partial_rotary_factor` of the file sets the rotated share of a head. */
  readonly turnsPart?: boolean
  /** True if a layer has rotary positions; default: all. */
  readonly hasRope?: (file: ConfigFile, layer: number) => boolean
  /** True if a layer has a mixture of experts; default: all if the model has one. */
  readonly isMixture?: (file: ConfigFile, layer: number) => boolean
  readonly refuse?: (file: ConfigFile) => string | undefined
}

/** Biases of all four attention projections, if the file sets them. */
const biased = ({ attention_bias: bias }: ConfigFile): Own => ({
  hasQkvBias: bias === true,
  hasOutputBias: bias === true
})

/** Qwen's windows start at a certain layer. */
const lateWindows = (file: ConfigFile, layer: number): boolean =>
  file.use_sliding_window === true && layer >= (file.max_window_layers ?? 28)

const tellsPosition = ({ no_rope_layer_interval: interval, no_rope_layers: kept }: ConfigFile, layer: number) =>
  kept == null ? (layer + 1) % (interval ?? 4) !== 0 : Boolean(kept[layer])

const gemma = (file: ConfigFile): Own => ({
  ...biased(file),
  norms: "around",
  normOffset: 1,
  embeddingScale: Math.sqrt(file.hidden_size),
  attentionScale: (file.query_pre_attn_scalar ?? 256) ** -0.5,
  logitCap: file.final_logit_softcapping ?? undefined
})

const queryGrowth = ({ rope_parameters: rope, rope_scaling: old }: ConfigFile): ModelConfig["queryGrowth"] => {
  const { llama_4_scaling_beta: by, original_max_position_embeddings: every } = rope ?? old ?? {}
  return by == null || every == null || by === 0 ? undefined : { by, every }
}

const qwenMixture = (file: ConfigFile): ModelConfig["mixture"] => ({
  experts: file.num_experts ?? file.num_local_experts ?? 128,
  perToken: file.num_experts_per_tok ?? 8,
  intermediateSize: file.moe_intermediate_size ?? 768,
  isNormed: file.norm_topk_prob === true
})

const ossMixture = (file: ConfigFile): ModelConfig["mixture"] => ({
  experts: file.num_local_experts ?? file.num_experts ?? 128,
  perToken: file.num_experts_per_tok ?? 4,
  intermediateSize: file.intermediate_size,
  isNormed: true,
  joint: { alpha: file.swiglu_alpha ?? 1.702, limit: file.swiglu_limit ?? 7 }
})

const deltaOf = (file: ConfigFile): ModelConfig["delta"] => ({
  keyHeads: file.linear_num_key_heads ?? 16,
  valueHeads: file.linear_num_value_heads ?? 32,
  keyDim: file.linear_key_head_dim ?? 128,
  valueDim: file.linear_value_head_dim ?? 128,
  kernel: file.linear_conv_kernel_dim ?? 4
})

const bothWays = (file: ConfigFile): string | undefined =>
  file.use_bidirectional_attention
    ? "attention to later tokens (use_bidirectional_attention) is not supported"
    : undefined

export const families: { readonly [modelType: string]: Family } = {
  llama: {
    models: "Llama 2 and 3, SmolLM 1 and 2",
    className: "LlamaForCausalLM",
    own: (file) => ({ ...biased(file), hasMlpBias: file.mlp_bias === true })
  },
  mistral: {
    models: "Mistral 7B, Nemo, Small; of mistral3 the part for text",
    className: "MistralForCausalLM",
    defaults: ClassDefaults.mistral,
    own: () => ({}),
    slides: (file) => file.sliding_window != null
  },
  ministral: {
    models: "Ministral 8B",
    className: "MinistralForCausalLM",
    own: () => ({}),
    slides: (file) => file.sliding_window != null,
    readsLayerTypes: true
  },
  ministral3: {
    models: "Ministral 3; of mistral3 the part for text",
    className: "Ministral3ForCausalLM",
    defaults: ClassDefaults.ministral3,
    own: (file) => ({ queryGrowth: queryGrowth(file) }),
    slides: (file) => file.sliding_window != null
  },
  qwen2: {
    models: "Qwen 2 and 2.5",
    className: "Qwen2ForCausalLM",
    own: () => ({ hasQkvBias: true }),
    slides: lateWindows,
    readsLayerTypes: true
  },
  qwen3: {
    models: "Qwen 3",
    className: "Qwen3ForCausalLM",
    own: (file) => ({ ...biased(file), qkNorm: "heads" }),
    slides: lateWindows,
    readsLayerTypes: true
  },
  qwen3_moe: {
    models: "Qwen 3 with experts",
    className: "Qwen3MoeForCausalLM",
    own: (file) => ({ ...biased(file), qkNorm: "heads", mixture: qwenMixture(file) }),
    isMixture: ({ decoder_sparse_step: step, mlp_only_layers: dense }, layer) =>
      !(dense ?? []).includes(layer) && (layer + 1) % (step ?? 1) === 0,
    refuse: (file) =>
      file.use_sliding_window === true ? "sliding-window attention (use_sliding_window) is not supported" : undefined
  },
  qwen3_5_text: {
    models: "Qwen 3.5 (text; of qwen3_5 the part for text)",
    className: "Qwen3_5ForCausalLM",
    defaults: { head_dim: 256, partial_rotary_factor: 0.25 },
    own: (file) => ({
      ...biased(file),
      qkNorm: "heads",
      normOffset: 1,
      hasOutputGate: true,
      delta: deltaOf(file)
    }),
    isDelta: (file, layer) => (layer + 1) % (file.full_attention_interval ?? 4) !== 0,
    readsLayerTypes: true,
    turnsPart: true,
    ignoresPictures: true,
    refuse: (file) => {
      const { keyHeads, valueHeads } = deltaOf(file)!
      return valueHeads % keyHeads === 0
        ? undefined
        : `${valueHeads} value heads cannot share ${keyHeads} key heads (linear_num_value_heads, linear_num_key_heads)`
    }
  },
  gpt_oss: {
    models: "gpt-oss, weights in bfloat16",
    className: "GptOssForCausalLM",
    defaults: {
      rope_theta: 150_000,
      rope_scaling: {
        rope_type: "yarn",
        factor: 32,
        beta_fast: 32,
        beta_slow: 1,
        truncate: false,
        original_max_position_embeddings: 4096
      },
      sliding_window: 128,
      attention_bias: true,
      head_dim: 64
    },
    own: (file) => ({ ...biased(file), hasSinks: true, mixture: ossMixture(file) }),
    slides: (_, layer) => layer % 2 === 0,
    readsLayerTypes: true
  },
  smollm3: {
    models: "SmolLM 3",
    className: "SmolLM3ForCausalLM",
    defaults: { tie_word_embeddings: true, rope_theta: 2e6 },
    own: (file) => ({ ...biased(file), hasMlpBias: file.mlp_bias === true }),
    slides: (file, layer) => file.use_sliding_window === true && !tellsPosition(file, layer),
    readsLayerTypes: true,
    hasRope: tellsPosition
  },
  gemma2: {
    models: "Gemma 2",
    className: "Gemma2ForCausalLM",
    defaults: { ...ClassDefaults.gemma, attn_logit_softcapping: 50, final_logit_softcapping: 30 },
    own: (file) => ({ ...gemma(file), attentionCap: file.attn_logit_softcapping ?? undefined }),
    slides: (_, layer) => layer % 2 === 0,
    readsLayerTypes: true,
    refuse: bothWays
  },
  gemma3_text: {
    models: "Gemma 3 (270M, 1B; of gemma3, 4B to 27B, the part for text)",
    className: "Gemma3ForCausalLM",
    defaults: ClassDefaults.gemma3,
    // Scores have no cap here, even if the file has the key: transformers reads it but never uses it.
    own: (file) => ({ ...gemma(file), qkNorm: "heads" }),
    slides: (file, layer) => (layer + 1) % (file.sliding_window_pattern ?? 6) !== 0,
    readsLayerTypes: true,
    slidingTheta: (file) => file.rope_local_base_freq ?? 10_000,
    refuse: bothWays
  },
  phi3: {
    models: "Phi 3 and 4 (mini, medium, Phi-4)",
    className: "Phi3ForCausalLM",
    own: () => ({ isFused: true }),
    turnsPart: true,
    slides: (file) => file.sliding_window != null
  },
  olmo2: {
    models: "OLMo 2",
    className: "Olmo2ForCausalLM",
    own: (file) => ({ ...biased(file), norms: "after", qkNorm: "width" })
  },
  olmo3: {
    models: "OLMo 3",
    className: "Olmo3ForCausalLM",
    defaults: { sliding_window: 4096 },
    own: (file) => ({ ...biased(file), norms: "after", qkNorm: "width" }),
    slides: (_, layer) => (layer + 1) % 4 !== 0,
    readsLayerTypes: true,
    slidingTheta: (file) => file.rope_theta ?? 500_000
  },
  granite: {
    models: "Granite 3 and 4 (dense)",
    className: "GraniteForCausalLM",
    own: (file) => ({
      ...biased(file),
      hasMlpBias: file.mlp_bias === true,
      embeddingScale: file.embedding_multiplier ?? 1,
      residualScale: file.residual_multiplier ?? 1,
      attentionScale: file.attention_multiplier ?? 1,
      logitScale: 1 / (file.logits_scaling ?? 1)
    })
  }
}

export const listed = (): string =>
  Object.entries(families)
    .map(([type, { models }]) => `${type} (${models})`)
    .join(", ")
