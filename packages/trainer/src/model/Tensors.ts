/** Lists the tensors of an architecture: names and shapes as in Hugging Face files, linear weights [out, in]. */
import type { ModelConfig } from "./ModelConfig.ts"

/** The linear layers of a block, and the submodule that contains each. */
export const projections = {
  q_proj: "self_attn",
  k_proj: "self_attn",
  v_proj: "self_attn",
  qkv_proj: "self_attn",
  o_proj: "self_attn",
  in_proj_qkv: "linear_attn",
  in_proj_z: "linear_attn",
  in_proj_b: "linear_attn",
  in_proj_a: "linear_attn",
  out_proj: "linear_attn",
  gate_proj: "mlp",
  up_proj: "mlp",
  gate_up_proj: "mlp",
  down_proj: "mlp"
} as const
export type Projection = keyof typeof projections

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

export const projectionsOf = ({ isFused }: Pick<ModelConfig, "isFused">): ReadonlyArray<Projection> =>
  isFused ? fused : projectionNames

/** Linear layers of a gated delta rule layer, which replace those of attention. */
const ofDelta: ReadonlyArray<Projection> = ["in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a", "out_proj"]

type Layered = Pick<ModelConfig, "isFused" | "layerTraits">

/** Linear layers of one layer: those in mixtures of experts are excluded, the gated delta rule has its own. */
export const layerProjections = (config: Layered, layer: number): ReadonlyArray<Projection> => {
  const { isDelta, isMixture } = config.layerTraits[layer] ?? { isDelta: false, isMixture: false }
  const others = projectionsOf(config).filter((name) => !isDelta || projections[name] === "mlp")
  return [...(isDelta ? ofDelta : []), ...others].filter((name) => !isMixture || projections[name] !== "mlp")
}

/** Linear layers that at least one layer has. */
export const adaptable = (config: Layered): ReadonlyArray<Projection> => {
  if (config.layerTraits.length === 0) return projectionsOf(config)
  const found = new Set(config.layerTraits.flatMap((_, layer) => layerProjections(config, layer)))
  // These are the names of linear layers.
  return (Object.keys(projections) as Array<Projection>).filter((name) => found.has(name))
}

export const embeddingModule = "model.embed_tokens"
export const headModule = "lm_head"
export const embedding = `${embeddingModule}.weight`
export const finalNorm = "model.norm.weight"
export const head = `${headModule}.weight`

/** `model.layers.<layer>.self_attn.q_proj`, without `.weight`. */
export const moduleName = (layer: number, projection: Projection): string =>
  `model.layers.${layer}.${projections[projection]}.${projection}`

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

/** Name of the norm's weight at a place of a block; undefined if the architecture has none there. */
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

export const headNormSize = (
  { headDim, heads, kvHeads, qkNorm }: Pick<ModelConfig, "headDim" | "heads" | "kvHeads" | "qkNorm">,
  norm: "q_norm" | "k_norm"
): number => (qkNorm === "width" ? headDim * (norm === "q_norm" ? heads : kvHeads) : headDim)

/** Sizes of all keys, of all values, and of queries, keys and values together. */
export const deltaSizes = ({ delta }: Pick<ModelConfig, "delta">) => {
  const keys = delta === undefined ? 0 : delta.keyHeads * delta.keyDim
  const values = delta === undefined ? 0 : delta.valueHeads * delta.valueDim
  return { keys, values, mixed: 2 * keys + values }
}

/** [out, in] */
export const linearShape = (config: ModelConfig, projection: Projection): readonly [number, number] => {
  const { headDim, heads, hiddenSize, intermediateSize, kvHeads } = config
  const { mixed, values } = deltaSizes(config)
  switch (projection) {
    case "q_proj":
      return [(config.hasOutputGate ? 2 : 1) * heads * headDim, hiddenSize]
    case "in_proj_qkv":
      return [mixed, hiddenSize]
    case "in_proj_z":
      return [values, hiddenSize]
    case "in_proj_b":
    case "in_proj_a":
      return [config.delta?.valueHeads ?? 0, hiddenSize]
    case "out_proj":
      return [hiddenSize, values]
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
  if (projections[projection] === "linear_attn") return false
  if (projection === "o_proj") return config.hasOutputBias
  return projections[projection] === "mlp" ? config.hasMlpBias : config.hasQkvBias
}

export interface TensorShape {
  readonly name: string
  readonly shape: ReadonlyArray<number>
}

/** The router of a layer; `joint` ones also have a bias. */
export const routerName = (layer: number, isJoint = false): string =>
  `model.layers.${layer}.mlp.${isJoint ? "router" : "gate"}.weight`

export const routerBiasName = (layer: number): string => `model.layers.${layer}.mlp.router.bias`

/** Name of a gated delta rule tensor other than linear layers. */
export const deltaName = (layer: number, part: "conv1d.weight" | "dt_bias" | "A_log" | "norm.weight"): string =>
  `model.layers.${layer}.linear_attn.${part}`

const deltaTensors = (config: ModelConfig, layer: number): ReadonlyArray<TensorShape> => {
  const { delta } = config
  if (delta === undefined || config.layerTraits[layer]?.isDelta !== true) return []
  return [
    { name: deltaName(layer, "dt_bias"), shape: [delta.valueHeads] },
    { name: deltaName(layer, "A_log"), shape: [delta.valueHeads] },
    { name: deltaName(layer, "conv1d.weight"), shape: [deltaSizes(config).mixed, 1, delta.kernel] },
    { name: deltaName(layer, "norm.weight"), shape: [delta.valueDim] }
  ]
}

export const sinksName = (layer: number): string => `model.layers.${layer}.self_attn.sinks`

/** The tensors of all experts in one, as in graphs. */
export interface ExpertStack extends TensorShape {
  /** Names of the experts' separate tensors in files. */
  readonly parts: ReadonlyArray<string>
}

/**
 * The weights of a layer's experts, gate, up and down: [E, out, in]; or gate and up fused, down, each with biases, [E,
 * in, out]. Empty if the layer has no mixture.
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

/** All tensors as in graphs, in checkpoint order. */
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
    ...deltaTensors(config, layer),
    ...mixtureTensors(config, layer),
    ...(qkNorm === undefined || config.layerTraits[layer]?.isDelta === true
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

/** Expert tensors that are one in a graph and several in files. */
export const stacks = (config: ModelConfig): ReadonlyArray<ExpertStack> => inGraph(config).filter(isStack)

/** All tensors as in files, in checkpoint order. */
export const all = (config: ModelConfig): ReadonlyArray<TensorShape> =>
  inGraph(config).flatMap((tensor) =>
    isStack(tensor) ? tensor.parts.map((name) => ({ name, shape: tensor.shape.slice(1) })) : [tensor]
  )
