/**
 * Loads a model from a Hugging Face folder or hub id, with an adapter to train on it or for full training.
 *
 * With an adapter the weights are memory-mapped (half precision from a float32 copy in the cache). For full training
 * they are converted to float32 in memory: 4 bytes per parameter here, 12 more in the optimizer.
 */
import { totalmem } from "node:os"
import { Tokenizer } from "@atropos/core"
import * as LocalPath from "@atropos/core/base/system/LocalPath"
import { Effect, Option } from "effect"
import * as Pieces from "../base/Pieces.ts"
import * as HubModel from "./HubModel.ts"
import * as Lora from "./Lora.ts"
import type { Model } from "./Model.ts"
import { type ModelConfig, usualPositions } from "./ModelConfig.ts"
import { ModelError } from "./file/ModelError.ts"
import * as ModelFolder from "./ModelFolder.ts"
import * as ModelSizes from "./ModelSizes.ts"
import * as Parameters from "./Parameters.ts"
import * as Peft from "./Peft.ts"
import * as Safetensors from "./file/Safetensors.ts"
import * as Stacks from "./Stacks.ts"
import * as Tensors from "./Tensors.ts"
import * as QuantizedWeights from "./QuantizedWeights.ts"
import * as WidenedWeights from "./file/WidenedWeights.ts"
import * as Weights from "./Weights.ts"

export interface Options {
  /** The adapter to train; `"all"` trains every weight instead. */
  readonly trains: Lora.LoraSettings | "all"
  readonly seed: number
  /**
   * Max sequence length, tokens. Default: the model's own, at most 32768, and at most the original positions of a model
   * with longrope (beyond them all its sequences are computed differently). Larger values mean larger tables.
   */
  readonly maxPositions?: number
  /** Quantize frozen linear layers to 8 or 4 bits. Default: no. Not for full training. */
  readonly quantize?: QuantizedWeights.Kind | undefined
  /** Called with the architecture before weights are read; if it fails, none are. */
  readonly check?: (config: ModelConfig) => Effect.Effect<void, ModelError>
}

/** Tables of rotary positions take 8 headDim bytes per position, in every graph. */
const maxDefaultPositions = 32_768

/** Max positions: the requested or default number, at most the model's. */
const positionsOf = (published: ModelConfig, limit: number | undefined): number =>
  Math.min(published.maxPositions, limit ?? Math.min(maxDefaultPositions, usualPositions(published)))

export type Description = Pick<Model, "name" | "config" | "tokenizer">

type Base = Description & {
  readonly folder: string
  readonly published: ModelConfig
  readonly entries: ReadonlyMap<string, Safetensors.Entry>
}

const loadTokenizer = Effect.fnUntraced(function* (
  folder: string,
  name: string,
  config: Pick<ModelConfig, "vocabSize">
) {
  const tokenizer = yield* Effect.provide(Tokenizer.Tokenizer, Tokenizer.layerHuggingFace(folder)).pipe(
    Effect.mapError(({ message }) => new ModelError({ reason: "missing", model: name, message }))
  )
  if (tokenizer.vocabularySize > config.vocabSize) {
    return yield* new ModelError({
      reason: "mismatch",
      model: name,
      message: `${folder}: the tokenizer has ${tokenizer.vocabularySize} tokens, the model ${config.vocabSize}: they are of different models`
    })
  }
  return { ...tokenizer, name }
})

/** Locates the model's files; `weights` false: without the weights of a hub model. */
const locate = Effect.fnUntraced(function* (nameOrFolder: string, weights: boolean) {
  const local = yield* Effect.mapError(
    LocalPath.folder(nameOrFolder),
    (message) => new ModelError({ reason: "missing", model: nameOrFolder, message })
  )
  return Option.isSome(local)
    ? { folder: local.value, name: local.value }
    : { folder: yield* HubModel.download(nameOrFolder, weights), name: nameOrFolder }
})

/** Fails with the actual contents of a folder that is not a model's: an adapter, a GGUF file. */
export const readConfigFile = ModelFolder.readConfigFile

/** The folder of a model's files; downloads a hub model. */
export const folderOf = (nameOrFolder: string) => Effect.map(locate(nameOrFolder, true), ({ folder }) => folder)

/** Describes a model without loading weights: enough to prompt it and parse its answers if it runs elsewhere. */
export const describe = Effect.fn("PretrainedModel.describe")(function* (
  nameOrFolder: string,
  maxPositions?: number
): Effect.fn.Return<
  Description,
  Effect.Error<ReturnType<typeof loadBase>>,
  Effect.Services<ReturnType<typeof loadBase>>
> {
  const { folder, name } = yield* locate(nameOrFolder, false)
  const published = yield* ModelFolder.readConfig(folder)
  const config = { ...published, maxPositions: positionsOf(published, maxPositions) }
  return { name, config, tokenizer: yield* loadTokenizer(folder, nameOrFolder, config) }
})

/** A model of any architecture, as much as another engine than ours needs here. */
export interface Outline {
  readonly name: string
  readonly folder: string
  readonly tokenizer: Model["tokenizer"]
  readonly config: ModelSizes.ModelSizes
}

/** Outlines a model, with its weights on this machine: a hub model is downloaded. */
export const outline = Effect.fn("PretrainedModel.outline")(function* (nameOrFolder: string, maxPositions: number) {
  const { folder, name } = yield* locate(nameOrFolder, true)
  const sizes = yield* ModelSizes.read(folder)
  const config = { ...sizes, maxPositions: Math.min(maxPositions, sizes.maxPositions) }
  return { name, folder, config, tokenizer: yield* loadTokenizer(folder, nameOrFolder, config) } satisfies Outline
})

const loadBase = Effect.fnUntraced(function* (
  nameOrFolder: string,
  maxPositions: number | undefined,
  check: Options["check"]
) {
  const read = Effect.fnUntraced(function* (weights: boolean) {
    const { folder, name } = yield* locate(nameOrFolder, weights)
    const published = yield* ModelFolder.readConfig(folder)
    return { folder, name, published, config: { ...published, maxPositions: positionsOf(published, maxPositions) } }
  })
  // Also before a hub model's weights are downloaded.
  if (check !== undefined) yield* check((yield* read(false)).config)
  const { config, folder, name, published } = yield* read(true)
  const entries = yield* ModelFolder.readEntries(folder, config)
  yield* ModelFolder.tellTextPart(name, config, entries)
  yield* ModelFolder.checkFinite(folder, config, entries)
  const tokenizer = yield* loadTokenizer(folder, nameOrFolder, config)
  const base: Base = {
    name,
    folder,
    config,
    published,
    tokenizer,
    entries
  }
  return base
})

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toPrecision(3)} GB`

/** Fails if the trained parameters alone exceed this machine's memory. */
const checkRoom = Effect.fnUntraced(function* (
  { name }: Base,
  { size }: Parameters.Layout,
  what: string,
  instead: string
) {
  if (size * 4 <= totalmem()) return
  return yield* new ModelError({
    reason: "settings",
    model: name,
    message: `${what} has ${size.toLocaleString("en-US")} parameters to train, ${gigabytes(size * 4)}; this machine has ${gigabytes(totalmem())}: ${instead}`
  })
})

const frozen = Effect.fnUntraced(function* ({ config, entries, name }: Base, quantize: Options["quantize"]) {
  const stacks = new Map(Tensors.stacks(config).map((stack) => [stack.name, stack]))
  // `readEntries` has checked that all exist.
  const needed = new Map(
    Tensors.inGraph(config).flatMap(({ name }) => (stacks.has(name) ? [] : [[name, entries.get(name)!] as const]))
  )
  const rounded =
    quantize === undefined
      ? new Map<string, Weights.Matrix>()
      : yield* QuantizedWeights.cached(name, QuantizedWeights.sources(config, entries), quantize)
  for (const name of rounded.keys()) {
    needed.delete(name)
    stacks.delete(name)
  }
  return new Map<string, Weights.Tensor | Weights.Matrix>([
    ...ModelFolder.weights(config, yield* WidenedWeights.cached(needed)),
    ...(yield* Stacks.cached([...stacks.values()], entries)),
    ...rounded
  ])
})

/** Initial values that depend on the base model: DoRA's row magnitudes, and modules trained in full. */
const fillFromBase = Effect.fnUntraced(function* (base: Base, layout: Parameters.Layout, values: Float32Array) {
  for (const slot of layout.slots) {
    const part = Lora.partOf(slot.name)
    if (part !== undefined && part.part !== "magnitude") continue
    // `readEntries` has checked that the module exists; a tied output matrix is the embedding.
    const name = part === undefined ? slot.name : `${part.module}.weight`
    const weight = yield* Safetensors.floats(base.entries.get(name) ?? base.entries.get(Tensors.embedding)!)
    const view = Parameters.view(values, slot)
    if (part === undefined) view.set(weight)
    else view.set(Lora.rowLengths(weight, slot.size))
  }
})

const adapted = Effect.fnUntraced(function* (
  base: Base,
  adapter: Lora.LoraSettings,
  { quantize, seed }: Pick<Options, "quantize" | "seed">
) {
  const problem =
    adapter.dora === true && quantize !== undefined
      ? "DoRA needs unquantized weights: remove dora or quantize"
      : Lora.problemOf(adapter, base.config)
  if (problem !== undefined) return yield* new ModelError({ reason: "settings", model: base.name, message: problem })
  if (!Number.isInteger(adapter.r) || adapter.r < 1 || adapter.r > Lora.maxRank) {
    return yield* new ModelError({
      reason: "settings",
      model: base.name,
      message: `an adapter's rank is a whole number from 1 to ${Lora.maxRank}, not ${adapter.r}`
    })
  }
  const layout = Lora.layout(base.config, adapter)
  yield* checkRoom(base, layout, `an adapter of rank ${adapter.r}`, "use a smaller rank (r)")
  const initial = yield* Pieces.yielding(() => Lora.initialPieces(layout, seed))
  yield* fillFromBase(base, layout, initial)
  const model: Model = {
    name: base.name,
    config: base.config,
    tokenizer: base.tokenizer,
    weights: yield* frozen(base, quantize),
    layout,
    initial,
    // A new adapter changes nothing.
    neutral: Lora.isPlain(layout) ? undefined : initial.slice(),
    adapter,
    write: (folder, parameters) =>
      Peft.write(folder, { layout, adapter, parameters, base: base.name, textOf: base.config.textOf })
  }
  return model
})

const whole = Effect.fnUntraced(function* (base: Base) {
  const layout = Parameters.layout(Tensors.inGraph(base.config))
  yield* checkRoom(base, layout, "the whole model", "train an adapter on it")
  const initial = new Float32Array(layout.size)
  const stacks = new Map(Tensors.stacks(base.config).map((stack) => [stack.name, stack]))
  for (const slot of layout.slots) {
    const stack = stacks.get(slot.name)
    // `readEntries` has checked that all exist.
    const values = stack ? Stacks.floats(stack, base.entries) : Safetensors.floats(base.entries.get(slot.name)!)
    Parameters.view(initial, slot).set(yield* values)
  }
  const model: Model = {
    name: base.name,
    config: base.config,
    tokenizer: base.tokenizer,
    weights: new Map(),
    layout,
    initial,
    adapter: undefined,
    write: Effect.fnUntraced(function* (folder, parameters) {
      const tensors = Stacks.apart(base.config, Weights.fromVector(layout, parameters))
      yield* ModelFolder.write(folder, base.published, tensors)
      yield* ModelFolder.copyTokenizer(base.folder, folder)
    })
  }
  return model
})

export const load = Effect.fn("PretrainedModel.load")(function* (
  nameOrFolder: string,
  { check, maxPositions, quantize, seed, trains }: Options
) {
  if (trains === "all" && quantize !== undefined) {
    return yield* new ModelError({
      reason: "settings",
      model: nameOrFolder,
      message: `quantize ${quantize} needs frozen weights (--trains adapter), but all weights are trained`
    })
  }
  const base = yield* loadBase(nameOrFolder, maxPositions, check)
  return trains === "all" ? yield* whole(base) : yield* adapted(base, trains, { quantize, seed })
})

/** Loads a model with the adapter of a PEFT folder: its settings, and its values as the initial ones. */
export const loadAdapter = Effect.fn("PretrainedModel.loadAdapter")(function* (
  nameOrFolder: string,
  adapter: string,
  quantize?: QuantizedWeights.Kind,
  check?: Options["check"]
) {
  const trains = yield* Peft.readSettings(adapter)
  const model = yield* load(nameOrFolder, { trains, seed: 0, quantize, ...(check && { check }) })
  // An adapter was requested, so there is one.
  const initial = yield* Peft.read(adapter, { layout: model.layout, adapter: model.adapter! })
  return { ...model, initial } satisfies Model
})
