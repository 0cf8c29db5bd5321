/** The tensors of an architecture: names and shapes as Hugging Face has them, linear weights [out, in]. */
import type { ModelConfig } from "./ModelConfig.ts"

/** The linear layers of a block, and the part of the block they lie in. */
export const projections = {
  q_proj: "self_attn",
  k_proj: "self_attn",
  v_proj: "self_attn",
  qkv_proj: "self_attn",
  o_proj: "self_attn",
  gate_proj: "mlp",
  up_proj: "mlp",
  gate_up_proj: "mlp",
  down_proj: "mlp"
} as const
export type Projection = keyof typeof projections

/** Those of most architectures. */
export const projectionNames: ReadonlyArray<Projection> = [
  "q_proj",
  "k_proj",
  "v_proj",
  "o_proj",
  "gate_proj",
  "up_proj",
  "down_proj"
]
const fused: ReadonlyArray<Projection> = ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"]

/** The linear layers of an architecture. */
export const projectionsOf = ({ isFused }: Pick<ModelConfig, "isFused">): ReadonlyArray<Projection> =>
  isFused ? fused : projectionNames

/** Of those, the ones that a layer has: where it has a mixture of experts, these are none. */
export const layerProjections = (config: ModelConfig, layer: number): ReadonlyArray<Projection> => {
  const isMixture = config.layerTraits[layer]?.isMixture === true
  return projectionsOf(config).filter((projection) => !isMixture || projections[projection] !== "mlp")
}

/** The linear layers that some layer has. */
export const adaptable = (config: Pick<ModelConfig, "isFused" | "layerTraits">): ReadonlyArray<Projection> => {
  const isMixed = config.layerTraits.length > 0 && config.layerTraits.every(({ isMixture }) => isMixture)
  return projectionsOf(config).filter((name) => !isMixed || projections[name] !== "mlp")
}

export const embeddingModule = "model.embed_tokens"
export const headModule = "lm_head"
export const embedding = `${embeddingModule}.weight`
export const finalNorm = "model.norm.weight"
export const head = `${headModule}.weight`

/** `model.layers.<layer>.self_attn.q_proj`, without `.weight`. */
export const moduleName = (layer: number, projection: Projection): string =>
  `model.layers.${layer}.${projections[projection]}.${projection}`

/** Where a norm stands in a block. */
export type NormPlace = "beforeAttention" | "afterAttention" | "beforeMlp" | "afterMlp"

const normNames: { readonly [places in ModelConfig["norms"]]: { readonly [place in NormPlace]?: string } } = {
  before: { beforeAttention: "input_layernorm", beforeMlp: "post_attention_layernorm" },
  after: { afterAttention: "post_attention_layernorm", afterMlp: "post_feedforward_layernorm" },
  around: {
    beforeAttention: "input_layernorm",
    afterAttention: "post_attention_layernorm",
    beforeMlp: "pre_feedforward_layernorm",
    afterMlp: "post_feedforward_layernorm"
  }
}

/** The norm's weight at a place of a block; undefined where the architecture has none there. */
export const normName = (
  { norms }: Pick<ModelConfig, "norms">,
  layer: number,
  place: NormPlace
): string | undefined => {
  const name = normNames[norms][place]
  return name === undefined ? undefined : `model.layers.${layer}.${name}.weight`
}

export const headNormName = (layer: number, norm: "q_norm" | "k_norm"): string =>
  `model.layers.${layer}.self_attn.${norm}.weight`

/** Of a norm of queries or keys. */
export const headNormSize = (
  { headDim, heads, kvHeads, qkNorm }: Pick<ModelConfig, "headDim" | "heads" | "kvHeads" | "qkNorm">,
  norm: "q_norm" | "k_norm"
): number => (qkNorm === "width" ? headDim * (norm === "q_norm" ? heads : kvHeads) : headDim)

/** [out, in] */
export const linearShape = (config: ModelConfig, projection: Projection): readonly [number, number] => {
  const { headDim, heads, hiddenSize, intermediateSize, kvHeads } = config
  switch (projection) {
    case "q_proj":
      return [heads * headDim, hiddenSize]
    case "k_proj":
    case "v_proj":
      return [kvHeads * headDim, hiddenSize]
    case "qkv_proj":
      return [(heads + 2 * kvHeads) * headDim, hiddenSize]
    case "o_proj":
      return [hiddenSize, heads * headDim]
    case "gate_proj":
    case "up_proj":
      return [intermediateSize, hiddenSize]
    case "gate_up_proj":
      return [2 * intermediateSize, hiddenSize]
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

/** The router of a layer; `joint` ones have a bias beside it. */
export const routerName = (layer: number, isJoint = false): string =>
  `model.layers.${layer}.mlp.${isJoint ? "router" : "gate"}.weight`

export const routerBiasName = (layer: number): string => `model.layers.${layer}.mlp.router.bias`

export const sinksName = (layer: number): string => `model.layers.${layer}.self_attn.sinks`

/** A tensor of every expert in one, as graphs have it. */
export interface ExpertStack extends TensorShape {
  /** In files each expert has its own, of these names. */
  readonly parts: ReadonlyArray<string>
}

/**
 * The weights of a layer's experts, gate, up and down: [E, out, in]; or gate and up together, down, each with biases,
 * [E, in, out]. None where the layer has no mixture.
 */
export const expertStacks = (
  { hiddenSize, layerTraits, mixture }: ModelConfig,
  layer: number
): ReadonlyArray<TensorShape | ExpertStack> => {
  if (mixture === undefined || layerTraits[layer]?.isMixture !== true) return []
  const { experts, intermediateSize, joint } = mixture
  const folder = `model.layers.${layer}.mlp.experts`
  if (joint !== undefined) {
    return [
      { name: `${folder}.gate_up_proj`, shape: [experts, hiddenSize, 2 * intermediateSize] },
      { name: `${folder}.gate_up_proj_bias`, shape: [experts, 2 * intermediateSize] },
      { name: `${folder}.down_proj`, shape: [experts, intermediateSize, hiddenSize] },
      { name: `${folder}.down_proj_bias`, shape: [experts, hiddenSize] }
    ]
  }
  const stack = (projection: Projection, out: number, input: number): ExpertStack => ({
    name: `${folder}.${projection}.weight`,
    shape: [experts, out, input],
    parts: Array.from({ length: experts }, (_, expert) => `${folder}.${expert}.${projection}.weight`)
  })
  return [
    stack("gate_proj", intermediateSize, hiddenSize),
    stack("up_proj", intermediateSize, hiddenSize),
    stack("down_proj", hiddenSize, intermediateSize)
  ]
}

const mixtureTensors = (config: ModelConfig, layer: number): ReadonlyArray<TensorShape> => {
  const { hiddenSize, mixture } = config
  const stacks = expertStacks(config, layer)
  if (mixture === undefined || stacks.length === 0) return []
  const isJoint = mixture.joint !== undefined
  return [
    { name: routerName(layer, isJoint), shape: [mixture.experts, hiddenSize] },
    ...(isJoint ? [{ name: routerBiasName(layer), shape: [mixture.experts] }] : []),
    ...stacks
  ]
}

/** All of them as graphs have them, in the order of a checkpoint. */
export const inGraph = (config: ModelConfig): ReadonlyArray<TensorShape> => {
  const { hasTiedHead, hiddenSize, layers, qkNorm, vocabSize } = config
  const norm = (layer: number, place: NormPlace): ReadonlyArray<TensorShape> => {
    const name = normName(config, layer, place)
    return name === undefined ? [] : [{ name, shape: [hiddenSize] }]
  }
  const block = (layer: number): ReadonlyArray<TensorShape> => [
    ...norm(layer, "beforeAttention"),
    ...layerProjections(config, layer).flatMap((projection) => {
      const [out, input] = linearShape(config, projection)
      const module = moduleName(layer, projection)
      return [
        { name: `${module}.weight`, shape: [out, input] },
        ...(hasBias(config, projection) ? [{ name: `${module}.bias`, shape: [out] }] : [])
      ]
    }),
    ...(config.hasSinks ? [{ name: sinksName(layer), shape: [config.heads] }] : []),
    ...mixtureTensors(config, layer),
    ...(qkNorm === undefined
      ? []
      : (["q_norm", "k_norm"] as const).map((n) => ({
          name: headNormName(layer, n),
          shape: [headNormSize(config, n)]
        }))),
    ...norm(layer, "afterAttention"),
    ...norm(layer, "beforeMlp"),
    ...norm(layer, "afterMlp")
  ]
  return [
    { name: embedding, shape: [vocabSize, hiddenSize] },
    ...Array.from({ length: layers }, (_, layer) => block(layer)).flat(),
    { name: finalNorm, shape: [hiddenSize] },
    ...(hasTiedHead ? [] : [{ name: head, shape: [vocabSize, hiddenSize] }])
  ]
}

const isStack = (tensor: TensorShape): tensor is ExpertStack => "parts" in tensor

/** The tensors of experts that are one in a graph and several in files. */
export const stacks = (config: ModelConfig): ReadonlyArray<ExpertStack> => inGraph(config).filter(isStack)

/** All of them as files have them, in the order of a checkpoint. */
export const all = (config: ModelConfig): ReadonlyArray<TensorShape> =>
  inGraph(config).flatMap((tensor) =>
    isStack(tensor) ? tensor.parts.map((name) => ({ name, shape: tensor.shape.slice(1) })) : [tensor]
  )
