/**
 * Merges an adapter into its model: writes a Hugging Face folder that needs no adapter and has the same logits.
 *
 * W becomes W + s B A, with DoRA each row scaled to its magnitude; the embedding E + s (B A)ᵀ. Tensors are written one
 * by one, without a second model in memory. A tied output matrix with an adapter on it or the embedding is untied
 * (`tie_word_embeddings` false).
 */
import { Effect, FileSystem, Path } from "effect"
import * as Lora from "./Lora.ts"
import { encode, type ModelConfig } from "./ModelConfig.ts"
import { ModelError } from "./file/ModelError.ts"
import * as ModelFolder from "./ModelFolder.ts"
import * as Parameters from "./Parameters.ts"
import * as Peft from "./Peft.ts"
import * as Safetensors from "./file/Safetensors.ts"
import * as Tensors from "./Tensors.ts"

export interface Options {
  /** The folder of the model that the adapter was trained on. */
  readonly model: string
  readonly adapter: string
  /** Created; fails if it exists. */
  readonly to: string
  readonly type: "F32" | "BF16"
}

/** Sums over the adapted weights, to compare the effect of rounding with that of the adapter. */
interface Changes {
  /** Σ (merged - base)² */
  adapter: number
  /** Σ (rounded - merged)² */
  rounding: number
}

/** Effect of rounding relative to that of the adapter (root mean squares). */
const roundingShare = ({ adapter, rounding }: Changes): number => (adapter === 0 ? 0 : Math.sqrt(rounding / adapter))

/** Rows merged before yielding to the event loop. */
const rowsAtOnce = 256

type Read = (name: string) => Float32Array | undefined

/** Rows `from` to `to` of `weight`, with s B A added; A [r, in], B [out, r]. */
const addLowRank = (
  weight: Float32Array,
  [from, to]: readonly [number, number],
  { a, b, r, scale }: { readonly a: Float32Array; readonly b: Float32Array; readonly r: number; readonly scale: number }
): void => {
  const width = a.length / r
  for (let row = from; row < to; row++) {
    const target = weight.subarray(row * width, (row + 1) * width)
    for (let k = 0; k < r; k++) {
      const factor = scale * b[row * r + k]!
      const source = a.subarray(k * width, (k + 1) * width)
      for (let i = 0; i < width; i++) target[i] = target[i]! + factor * source[i]!
    }
  }
}

const stretch = (weight: Float32Array, lengths: Float32Array): void => {
  const width = weight.length / lengths.length
  const own = Lora.rowLengths(weight, lengths.length)
  for (let at = 0; at < weight.length; at++) {
    const row = Math.floor(at / width)
    weight[at] = (weight[at]! * lengths[row]!) / own[row]!
  }
}

const transposed = (values: Float32Array, rows: number): Float32Array => {
  const columns = values.length / rows
  const result = new Float32Array(values.length)
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) result[column * rows + row] = values[row * columns + column]!
  }
  return result
}

const add = (changes: Changes, base: Float32Array, merged: Float32Array, type: Options["type"]): void => {
  const rounded = type === "BF16" ? Safetensors.roundedToBfloat16(merged) : merged
  for (let at = 0; at < merged.length; at++) {
    changes.adapter += (merged[at]! - base[at]!) ** 2
    changes.rounding += (rounded[at]! - merged[at]!) ** 2
  }
}

/** Merges a module's adapter into `weight`, in place. */
const mergeInto = Effect.fnUntraced(function* (
  weight: Float32Array,
  module: string,
  { adapter, read }: { readonly adapter: Lora.LoraSettings; readonly read: Read }
) {
  const [first, second] = [read(Lora.nameOf(module, "A")), read(Lora.nameOf(module, "B"))]
  if (first === undefined || second === undefined) return weight
  const { r } = adapter
  // The embedding's rows are tokens: A and B are exchanged and transposed.
  const isEmbedding = module === Tensors.embeddingModule
  const [a, b] = isEmbedding ? [transposed(second, second.length / r), transposed(first, r)] : [first, second]
  const rows = b.length / r
  for (let from = 0; from < rows; from += rowsAtOnce) {
    addLowRank(weight, [from, Math.min(rows, from + rowsAtOnce)], { a, b, r, scale: Lora.scaleOf(adapter) })
    yield* Effect.yieldNow
  }
  const lengths = read(Lora.magnitudeOf(module))
  if (lengths !== undefined) stretch(weight, lengths)
  return weight
})

/** True if embedding and output matrix are tied in the base but differ after merging. */
const unties = ({ hasTiedHead }: ModelConfig, { targetModules }: Lora.LoraSettings): boolean =>
  hasTiedHead && targetModules.some((name) => name === "embed_tokens" || name === "lm_head")

/** Writes the merged model; `config.json` comes last, so a folder that has it is complete. */
export const merge = Effect.fn("Merge.merge")(function* ({ adapter: adapterFolder, model, to, type }: Options) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const fail = (reason: ModelError["reason"], message: string) => new ModelError({ reason, model: to, message })
  if (yield* Effect.orElseSucceed(fs.exists(join(to, ModelFolder.configFile)), () => false)) {
    return yield* fail("settings", `${to} already contains a model: give another folder`)
  }
  const config = yield* ModelFolder.readConfig(model)
  const entries = yield* ModelFolder.readEntries(model, config)
  yield* ModelFolder.tellTextPart(model, config, entries)
  const adapter = yield* Peft.readSettings(adapterFolder)
  const problem = Lora.problemOf(adapter, config)
  if (problem !== undefined) return yield* fail("settings", problem)
  const layout = Lora.layout(config, adapter)
  const parameters = yield* Peft.read(adapterFolder, { adapter, layout })
  const slots = new Map(layout.slots.map((slot) => [slot.name, slot]))
  const read: Read = (name) => {
    const slot = slots.get(name)
    return slot === undefined ? undefined : Parameters.view(parameters, slot)
  }
  const isUntied = unties(config, adapter)
  const tensors = Tensors.all({ ...config, hasTiedHead: config.hasTiedHead && !isUntied })
  const changes: Changes = { adapter: 0, rounding: 0 }
  const written = tensors.map(({ name, shape }): Safetensors.Written => {
    const values = Effect.gen(function* () {
      const saved = read(name)
      if (saved !== undefined) return saved
      // Checked by `readEntries`; a tied output matrix is stored as the embedding.
      const weight = yield* Safetensors.floats(entries.get(name) ?? entries.get(Tensors.embedding)!)
      const module = name.replace(/\.weight$/, "")
      if (read(Lora.nameOf(module, "A")) === undefined) return weight
      const base = weight.slice()
      const merged = yield* mergeInto(weight, module, { adapter, read })
      add(changes, base, merged, type)
      return merged
    })
    return { name, shape, values }
  })
  yield* fs.makeDirectory(to, { recursive: true }).pipe(Effect.mapError((cause) => fail("disk", cause.message)))
  yield* Safetensors.write(join(to, ModelFolder.singleFile), written, type)
  yield* ModelFolder.copyTokenizer(model, to)
  yield* ModelFolder.writeJson(to, {
    [ModelFolder.configFile]: {
      ...encode(config),
      torch_dtype: type === "F32" ? "float32" : "bfloat16",
      ...(isUntied && { tie_word_embeddings: false })
    }
  })
  return { tensors: written.length, isUntied, roundingShare: roundingShare(changes) }
})
