/** The tensors of an architecture: names and shapes as Hugging Face has them, linear weights [out, in]. */
import type { ModelConfig } from "./ModelConfig.ts"

/** The linear layers of a block, and the part of the block they lie in. */
export const projections = {
  q_proj: "self_attn",
  k_proj: "self_attn",
  v_proj: "self_attn",
  o_proj: "self_attn",
  gate_proj: "mlp",
  up_proj: "mlp",
  down_proj: "mlp"
} as const
export type Projection = keyof typeof projections

export const projectionNames = Object.keys(projections) as ReadonlyArray<Projection>

export const embedding = "model.embed_tokens.weight"
export const finalNorm = "model.norm.weight"
export const head = "lm_head.weight"

/** `model.layers.<layer>.self_attn.q_proj`, without `.weight`. */
export const moduleName = (layer: number, projection: Projection): string =>
  `model.layers.${layer}.${projections[projection]}.${projection}`

export const normName = (layer: number, norm: "input_layernorm" | "post_attention_layernorm"): string =>
  `model.layers.${layer}.${norm}.weight`

export const headNormName = (layer: number, norm: "q_norm" | "k_norm"): string =>
  `model.layers.${layer}.self_attn.${norm}.weight`

/** [out, in] */
export const linearShape = (config: ModelConfig, projection: Projection): readonly [number, number] => {
  const { headDim, heads, hiddenSize, intermediateSize, kvHeads } = config
  switch (projection) {
    case "q_proj":
      return [heads * headDim, hiddenSize]
    case "k_proj":
    case "v_proj":
      return [kvHeads * headDim, hiddenSize]
    case "o_proj":
      return [hiddenSize, heads * headDim]
    case "gate_proj":
    case "up_proj":
      return [intermediateSize, hiddenSize]
    case "down_proj":
      return [hiddenSize, intermediateSize]
  }
}

export const hasBias = (config: ModelConfig, projection: Projection): boolean => {
  if (projection === "o_proj") return config.hasOutputBias
  return projections[projection] === "mlp" ? config.hasMlpBias : config.hasQkvBias
}

export interface TensorShape {
  readonly name: string
  readonly shape: ReadonlyArray<number>
}

/** All of them, in the order of a checkpoint. */
export const all = (config: ModelConfig): ReadonlyArray<TensorShape> => {
  const { hasQkNorm, hasTiedHead, headDim, hiddenSize, layers, vocabSize } = config
  const block = (layer: number): ReadonlyArray<TensorShape> => [
    { name: normName(layer, "input_layernorm"), shape: [hiddenSize] },
    ...projectionNames.flatMap((projection) => {
      const [out, input] = linearShape(config, projection)
      const module = moduleName(layer, projection)
      return [
        { name: `${module}.weight`, shape: [out, input] },
        ...(hasBias(config, projection) ? [{ name: `${module}.bias`, shape: [out] }] : [])
      ]
    }),
    ...(hasQkNorm
      ? (["q_norm", "k_norm"] as const).map((n) => ({ name: headNormName(layer, n), shape: [headDim] }))
      : []),
    { name: normName(layer, "post_attention_layernorm"), shape: [hiddenSize] }
  ]
  return [
    { name: embedding, shape: [vocabSize, hiddenSize] },
    ...Array.from({ length: layers }, (_, layer) => block(layer)).flat(),
    { name: finalNorm, shape: [hiddenSize] },
    ...(hasTiedHead ? [] : [{ name: head, shape: [vocabSize, hiddenSize] }])
  ]
}
