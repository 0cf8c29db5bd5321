/**
 * Parses the architecture from a Hugging Face model's `config.json`, for the families of `family/Families`.
 *
 * Unsupported options that affect the numbers are rejected by name; irrelevant keys are ignored. RoPE's base and
 * scaling are read from `rope_parameters` (transformers 5) or `rope_theta` and `rope_scaling` (before).
 */
import { Option, Result, Schema } from "effect"
import * as ConfigFile from "./family/ConfigFile.ts"
import { type Family, families, listed } from "./family/Families.ts"
import * as RopeScaling from "./family/RopeScaling.ts"
import * as TextPart from "./family/TextPart.ts"
import type { Activation, LayerTraits, ModelConfig, Rope } from "./family/Traits.ts"

export type { LayerTraits, ModelConfig, Rope, RopeScaling, Shape } from "./family/Traits.ts"

type File = ConfigFile.ConfigFile

const asRecord = Schema.decodeUnknownOption(Schema.Record(Schema.String, Schema.Unknown))
const named = Schema.decodeUnknownOption(Schema.Struct({ model_type: Schema.String }))

const decodeEnds = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ eos_token_id: ConfigFile.EndTokens }))
)

const idsOf = (ids: number | ReadonlyArray<number> | null | undefined): ReadonlyArray<number> =>
  typeof ids === "number" ? [ids] : (ids ?? [])

/** Describes invalid end-of-sequence tokens; undefined if they are valid. */
export const strangerOf = (ids: ReadonlyArray<number>, vocabSize: number): string | undefined => {
  const stranger = ids.find((id) => id < 0 || id >= vocabSize)
  return stranger === undefined
    ? undefined
    : `eos_token_id ${stranger} is not in the vocabulary of ${vocabSize} (0 to ${vocabSize - 1})`
}

const activations: { readonly [name: string]: Activation } = {
  silu: "silu",
  gelu_pytorch_tanh: "gelu_tanh",
  gelu_new: "gelu_tanh"
}

const full = "full_attention"
const sliding = "sliding_attention"
const linear = "linear_attention"

/** Flags of the layers with the gated delta rule; an error if the file is inconsistent. */
const deltaLayers = (family: Family, file: File): Result.Result<ReadonlyArray<boolean>, string> => {
  const { layer_types: types, num_hidden_layers: layers } = file
  const found = Array.from({ length: layers }, (_, layer) =>
    family.isDelta === undefined ? false : types == null ? family.isDelta(file, layer) : types[layer] === linear
  )
  return found.includes(false) ? Result.succeed(found) : Result.fail(`no layer has attention (layer_types, ${full})`)
}

/** Flags of the layers with a sliding window; an error if the file is inconsistent. */
const slidingLayers = (family: Family, file: File): Result.Result<ReadonlyArray<boolean>, string> => {
  const { layer_types: types, num_hidden_layers: layers, sliding_window: window } = file
  const defaults = Array.from({ length: layers }, (_, layer) => family.slides?.(file, layer) ?? false)
  const others = family.isDelta === undefined ? [full, sliding] : [full, linear]
  const stranger = types?.find((type) => !others.includes(type))
  if (stranger !== undefined) return Result.fail(`layers of type ${stranger} (layer_types) are not supported`)
  if (types != null && types.length !== layers) {
    return Result.fail(`layer_types names ${types.length} layers, num_hidden_layers ${layers}`)
  }
  const declared = types?.map((type) => type === sliding)
  if (
    declared !== undefined &&
    family.readsLayerTypes !== true &&
    declared.some((slides, i) => slides !== defaults[i])
  ) {
    return Result.fail(`a ${file.model_type} has no layers of type ${sliding} of its own choice (layer_types)`)
  }
  const slides = declared ?? defaults
  return slides.includes(true) && window == null
    ? Result.fail(`layers of type ${sliding} need a sliding_window`)
    : Result.succeed(slides)
}

/** Rotary positions: of all layers, and of those with a window if they have their own. */
const ropesOf = (family: Family, file: File, headDim: number): Result.Result<ReadonlyArray<Rope>, string> => {
  const { rope_parameters: written, rope_scaling: scaling } = file
  const around = {
    theta: file.rope_theta ?? 10_000,
    headDim,
    maxPositions: file.max_position_embeddings,
    originalMaxPositions: file.original_max_position_embeddings ?? undefined,
    partial: file.partial_rotary_factor ?? undefined
  }
  const nested = written?.full_attention ?? written?.sliding_attention
  if (family.slidingTheta === undefined) {
    if (nested != null) return Result.fail(`rope_parameters of a ${file.model_type} are the same for all layers`)
    const { mrope_section: _, ...ofText } = written ?? scaling ?? {}
    const declared = family.ignoresPictures === true ? ofText : (written ?? scaling ?? {})
    return Result.map(RopeScaling.read(declared, around), (rope) => [rope])
  }
  if (written != null && nested == null && Object.keys(written).length > 0) {
    return Result.fail(`rope_parameters of a ${file.model_type} are for each type of layer: ${full} and ${sliding}`)
  }
  // transformers reads `truncate` next to the layer types, where no file has it.
  const { truncate: _, ...ofAll } = written?.full_attention ?? scaling ?? {}
  const { truncate: __, ...ofSliding } = written?.sliding_attention ?? {}
  return Result.all([
    RopeScaling.read(ofAll, around),
    RopeScaling.read(ofSliding, { ...around, theta: family.slidingTheta(file) })
  ])
}

/** The rotated share of each head, if less than all. */
const partOf = ({ partial_rotary_factor: own, rope_parameters: ropes, rope_scaling: old }: File) =>
  [own, ropes?.partial_rotary_factor, old?.partial_rotary_factor].find((part) => part != null && part !== 1)

const unsupported = (family: Family, file: File, activation: string): string | undefined => {
  const quantized = Option.getOrUndefined(asRecord(file.quantization_config))
  if (quantized?.quant_method === "mxfp4") {
    return "weights in mxfp4 (quantization_config) are not read: save the model in bfloat16 (in transformers, Mxfp4Config with dequantize)"
  }
  if (file.quantization_config != null) return "quantized weights (quantization_config) cannot be trained on"
  if (!Object.hasOwn(activations, activation)) return `the activation ${activation} is not supported`
  const part = partOf(file)
  if (part !== undefined && family.turnsPart !== true) {
    return `rotating only part of each head (partial_rotary_factor ${part}) is not supported for a ${file.model_type}`
  }
  return family.refuse?.(file)
}

const sizes = (file: File): Result.Result<Pick<ModelConfig, "heads" | "kvHeads" | "headDim">, string> => {
  const heads = file.num_attention_heads
  const kvHeads = file.num_key_value_heads ?? heads
  const headDim = file.head_dim ?? file.hidden_size / heads
  if (!Number.isInteger(headDim) || headDim % 2 !== 0) {
    return Result.fail(`hidden_size ${file.hidden_size} and ${heads} heads do not give an even head_dim`)
  }
  if (heads % kvHeads !== 0) return Result.fail(`${heads} heads cannot share ${kvHeads} key-value heads`)
  return Result.succeed({ heads, kvHeads, headDim })
}

const read = (family: Family, file: File, from: TextPart.Read): Result.Result<ModelConfig, string> =>
  Result.gen(function* () {
    const activation = file.hidden_activation ?? file.hidden_act ?? "silu"
    const problem = unsupported(family, file, activation)
    if (problem !== undefined) return yield* Result.fail(problem)
    const { headDim, heads, kvHeads } = yield* sizes(file)
    const slides = yield* slidingLayers(family, file)
    const deltas = yield* deltaLayers(family, file)
    const ropes = yield* ropesOf(family, file, headDim)
    const stranger = strangerOf(idsOf(file.eos_token_id), file.vocab_size)
    if (stranger !== undefined) return yield* Result.fail(stranger)
    const own = family.own(file)
    const { mixture } = own
    if (mixture !== undefined && mixture.perToken > mixture.experts) {
      return yield* Result.fail(`num_experts_per_tok ${mixture.perToken} exceeds the ${mixture.experts} experts`)
    }
    const layerTraits = slides.map((isSliding, layer): LayerTraits => {
      const tellsPosition = family.hasRope?.(file, layer) ?? true
      return {
        isDelta: deltas[layer]!,
        window: isSliding ? file.sliding_window! : undefined,
        rope: tellsPosition ? (isSliding ? ropes.length - 1 : 0) : undefined,
        isMixture: mixture !== undefined && (family.isMixture?.(file, layer) ?? true)
      }
    })
    return {
      architecture: file.model_type,
      textOf: from.textOf,
      vocabSize: file.vocab_size,
      hiddenSize: file.hidden_size,
      layers: file.num_hidden_layers,
      heads,
      kvHeads,
      headDim,
      intermediateSize: file.intermediate_size,
      maxPositions: file.max_position_embeddings,
      normEpsilon: file.rms_norm_eps,
      hasTiedHead: file.tie_word_embeddings ?? false,
      hasQkvBias: false,
      hasOutputBias: false,
      hasMlpBias: false,
      norms: "before",
      normOffset: 0,
      qkNorm: undefined,
      isFused: false,
      activation: activations[activation]!,
      attentionScale: headDim ** -0.5,
      attentionCap: undefined,
      hasSinks: false,
      hasOutputGate: false,
      embeddingScale: 1,
      residualScale: 1,
      logitScale: 1,
      logitCap: undefined,
      mixture: undefined,
      delta: undefined,
      queryGrowth: undefined,
      ...own,
      ropes,
      layerTraits,
      eosTokenIds: idsOf(file.eos_token_id),
      file: from.file
    }
  })

/** Parses the file's JSON value; the error describes the problem. */
export const parse = (whole: unknown): Result.Result<ModelConfig, string> => {
  const found = Option.getOrUndefined(Option.map(asRecord(whole), TextPart.read))
  const name = Option.getOrUndefined(named(found?.file))?.model_type
  if (found === undefined || name === undefined) {
    return Result.fail('"model_type" is missing: this is not a model configuration')
  }
  const family = Object.hasOwn(families, name) ? families[name] : undefined
  if (family === undefined) {
    return Result.fail(`the architecture "${name}" is not supported; supported are ${listed()}`)
  }
  return Result.flatMap(
    Result.mapError(ConfigFile.decode({ ...family.defaults, ...found.file }), ({ message }) => message),
    (decoded) => read(family, decoded, found)
  )
}

/** Default max positions: not beyond longrope's original positions, where it uses other factors for all sequences. */
export const usualPositions = ({ maxPositions, ropes }: ModelConfig): number =>
  Math.min(
    maxPositions,
    ...ropes.map(({ scaling }) => (scaling?.kind === "longrope" ? scaling.originalMaxPositions : maxPositions))
  )

/** The end-of-sequence tokens in the text of `generation_config.json`, if any. */
export const endTokens = (text: string): Option.Option<ReadonlyArray<number>> =>
  Option.flatMap(decodeEnds(text), ({ eos_token_id }) =>
    eos_token_id == null ? Option.none() : Option.some(idsOf(eos_token_id))
  )

/** The configuration file for transformers: as read, except the weights' type. */
export const encode = (config: ModelConfig): { readonly [name: string]: unknown } => {
  const { architecture, eosTokenIds, file, hasTiedHead, textOf } = config
  const { dtype: _, torch_dtype: __, ...kept } = file
  return {
    ...kept,
    // For a text part it comes from the files (`ModelFolder`).
    ...(textOf !== undefined && { tie_word_embeddings: hasTiedHead }),
    architectures: [families[architecture]!.className],
    ...(eosTokenIds.length > 0 && { eos_token_id: eosTokenIds.length === 1 ? eosTokenIds[0] : eosTokenIds }),
    torch_dtype: "float32"
  }
}
