/**
 * Low-rank adapters (Hu et al. 2021, 2106.09685): W x + s B A x with A [r, in] and B [out, r], in PEFT's conventions.
 *
 * s = alpha / r, or alpha / sqrt(r) if rank-stabilised (2312.03732). A starts uniform in ±1/sqrt(in) (PEFT's
 * kaiming_uniform with a = sqrt(5)), B at zero: before the first update the adapter changes nothing.
 *
 * With DoRA (2402.09353) each row of W + s B A is scaled to a trained magnitude m, which starts at that of W's row; the
 * divisor has no gradient. Adapters may also be on the embedding (A [r, V] at zero, B [H, r] normal) and on the output
 * matrix; and either may be trained in full (`modulesToSave`).
 */
import { type Pieces, run } from "../base/Pieces.ts"
import { uniform } from "../base/CounterRandom.ts"
import type { ModelConfig } from "./ModelConfig.ts"
import * as Parameters from "./Parameters.ts"
import * as Tensors from "./Tensors.ts"

export interface LoraSettings {
  readonly r: number
  readonly alpha: number
  readonly targetModules: ReadonlyArray<string>
  readonly rslora: boolean
  /** DoRA: rows of weights have a trained magnitude. Default false. */
  readonly dora?: boolean
  /** Modules trained in full: the embedding, the output matrix, or both. Default: neither. */
  readonly modulesToSave?: ReadonlyArray<string>
}

/** An adapter wider than any model is not low-rank. */
export const maxRank = 65_536

export const scaleOf = ({ alpha, r, rslora }: Pick<LoraSettings, "alpha" | "r" | "rslora">): number =>
  alpha / (rslora ? Math.sqrt(r) : r)

export const nameOf = (module: string, part: "A" | "B"): string =>
  module === Tensors.embeddingModule ? `${module}.lora_embedding_${part}` : `${module}.lora_${part}.weight`

export const magnitudeOf = (module: string): string => `${module}.lora_magnitude_vector`

/** The module and part that an adapter's tensor belongs to. */
export const partOf = (
  tensor: string
): { readonly module: string; readonly part: "A" | "B" | "magnitude" } | undefined => {
  if (tensor.endsWith(".lora_magnitude_vector")) {
    return { module: tensor.slice(0, -".lora_magnitude_vector".length), part: "magnitude" }
  }
  for (const part of ["A", "B"] as const) {
    for (const end of [`.lora_${part}.weight`, `.lora_embedding_${part}`]) {
      if (tensor.endsWith(end)) return { module: tensor.slice(0, -end.length), part }
    }
  }
  return undefined
}

/** PEFT's name for all linear layers of all blocks. */
export const allLinear = "all-linear"

/** Modules outside of blocks that may have an adapter or be trained in full. */
const outer = ["embed_tokens", "lm_head"] as const
type Outer = (typeof outer)[number]

const isOuter = (name: string): name is Outer => outer.some((one) => one === name)

const moduleOf = (name: Outer): string => (name === "embed_tokens" ? Tensors.embeddingModule : Tensors.headModule)

interface Targets {
  readonly projections: ReadonlyArray<Tensors.Projection>
  readonly outer: ReadonlyArray<Outer>
}

/** The names in layer order, or an error message for a name that no architecture has. */
export const known = (names: ReadonlyArray<string>): ReadonlyArray<string> | string => {
  if (names.length === 1 && names[0] === allLinear) return names
  const all = [...Object.keys(Tensors.projections), ...outer]
  const unknown = names.find((name) => !all.includes(name))
  if (unknown !== undefined) return `unknown linear layer "${unknown}"; the model has ${all.join(", ")}`
  return all.filter((name) => names.includes(name))
}

/**
 * Resolves the names, or describes the error. The full list of most architectures' linear layers means all of any
 * architecture: it is the default, also for models with fused layers.
 */
const targets = (
  names: ReadonlyArray<string>,
  config: Pick<ModelConfig, "isFused" | "layerTraits">
): Targets | string => {
  const there = Tensors.adaptable(config)
  const inBlocks = names.filter((name) => !isOuter(name))
  const found = outer.filter((name) => names.includes(name))
  const isAll =
    (inBlocks.length === 1 && inBlocks[0] === allLinear) ||
    Tensors.projectionNames.every((name) => inBlocks.includes(name))
  if (isAll) return { projections: there, outer: found }
  const unknown = inBlocks.find((name) => !there.some((projection) => projection === name))
  if (unknown !== undefined) {
    const others = `${there.join(", ")}, ${outer.join(", ")}`
    return `unknown linear layer "${unknown}"; the model has ${others}, or give only ${allLinear}`
  }
  if (names.length === 0) return `no linear layer is given; the model has ${there.join(", ")}`
  return { projections: there.filter((name) => inBlocks.includes(name)), outer: found }
}

/** Describes why an adapter does not fit this architecture; undefined if it does. */
export const problemOf = (
  { dora, modulesToSave = [], targetModules }: LoraSettings,
  config: Pick<ModelConfig, "isFused" | "layerTraits" | "hasTiedHead">
): string | undefined => {
  const found = targets(targetModules, config)
  if (typeof found === "string") return found
  const stranger = modulesToSave.find((name) => !isOuter(name))
  if (stranger !== undefined) return `modules_to_save: unknown "${stranger}"; the model has ${outer.join(" and ")}`
  if (modulesToSave.length > 0 && config.hasTiedHead) {
    return "modules_to_save: the model's embeddings are tied; adapt them (target_modules), or train all weights"
  }
  const twice = found.outer.find((name) => modulesToSave.includes(name))
  if (twice !== undefined) return `${twice} is in both target_modules and modules_to_save`
  if (dora === true && found.outer.includes("embed_tokens")) return "DoRA on embed_tokens is not supported"
  return undefined
}

const adapterOf = (
  module: string,
  [out, input]: readonly [number, number],
  { dora, r }: Pick<LoraSettings, "r" | "dora">
): ReadonlyArray<Tensors.TensorShape> => [
  { name: nameOf(module, "A"), shape: [r, input] },
  { name: nameOf(module, "B"), shape: [out, r] },
  ...(dora === true ? [{ name: magnitudeOf(module), shape: [out] }] : [])
]

/**
 * A and B of each module, layer by layer; then of the embedding and the output matrix. Throws `RangeError` in the cases
 * of `problemOf`.
 */
export const layout = (config: ModelConfig, settings: Omit<LoraSettings, "alpha" | "rslora">): Parameters.Layout => {
  const { hiddenSize, vocabSize } = config
  const found = targets(settings.targetModules, config)
  if (typeof found === "string") throw new RangeError(found)
  const { outer: outside, projections } = found
  const saved = settings.modulesToSave ?? []
  return Parameters.layout([
    ...Array.from({ length: config.layers }, (_, layer) =>
      Tensors.layerProjections(config, layer).flatMap((projection) =>
        projections.includes(projection)
          ? adapterOf(Tensors.moduleName(layer, projection), Tensors.linearShape(config, projection), settings)
          : []
      )
    ).flat(),
    ...outside.flatMap((name) =>
      adapterOf(moduleOf(name), name === "lm_head" ? [vocabSize, hiddenSize] : [hiddenSize, vocabSize], settings)
    ),
    ...outer
      .filter((name) => saved.includes(name))
      .map((name) => ({ name: `${moduleOf(name)}.weight`, shape: [vocabSize, hiddenSize] }))
  ])
}

/** The L2 norm of each of `rows` rows of a matrix. */
export const rowLengths = (matrix: Float32Array, rows: number): Float32Array => {
  const width = matrix.length / rows
  return Float32Array.from({ length: rows }, (_, row) => {
    let sum = 0
    for (let at = row * width; at < (row + 1) * width; at++) sum += matrix[at]! ** 2
    return Math.sqrt(sum)
  })
}

/** True if the layout only has A and B, so that zeros in B give the base model. */
export const isPlain = ({ slots }: Parameters.Layout): boolean =>
  slots.every(({ name }) => /\.lora_[AB]\.weight$/.test(name))

/** Initial values, deterministic by seed. Magnitudes and modules trained in full are left at zero. */
export const initial = (layout: Parameters.Layout, seed: number): Float32Array => run(initialPieces(layout, seed))

const normal = (seed: number, stream: number, at: number): number =>
  Math.sqrt(-2 * Math.log(1 - uniform(seed, stream, 2 * at))) *
  Math.cos(2 * Math.PI * uniform(seed, stream, 2 * at + 1))

/** Like `initial`, in steps that yield to the event loop: a million values take 75 ms. */
export function* initialPieces({ size, slots }: Parameters.Layout, seed: number): Pieces<Float32Array> {
  const values = new Float32Array(size)
  for (const [index, slot] of slots.entries()) {
    const view = Parameters.view(values, slot)
    if (slot.name.endsWith(".lora_A.weight")) {
      yield
      const bound = 1 / Math.sqrt(slot.shape[1]!)
      for (let at = 0; at < view.length; at++) view[at] = (2 * uniform(seed, index, at) - 1) * bound
    }
    if (slot.name.endsWith(".lora_embedding_B")) {
      yield
      for (let at = 0; at < view.length; at++) view[at] = normal(seed, index, at)
    }
  }
  return values
}
