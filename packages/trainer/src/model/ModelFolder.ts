/**
 * Reads and writes models as Hugging Face folders: `config.json`, and `model.safetensors` or shards with
 * `model.safetensors.index.json`. Before loading, checks every tensor of the architecture: missing ones, other shapes,
 * and types other than bf16, f16 or f32 are errors; extra ones are ignored.
 */
import * as LocalPath from "@atropos/core/base/system/LocalPath"
import { Effect, FileSystem, Option, Path, Result, Schema } from "effect"
import * as CacheFile from "../base/CacheFile.ts"
import * as NumberText from "./family/NumberText.ts"
import * as TextPart from "./family/TextPart.ts"
import * as ModelConfig from "./ModelConfig.ts"
import { ModelError, unwritten } from "./file/ModelError.ts"
import * as Safetensors from "./file/Safetensors.ts"
import * as Tensors from "./Tensors.ts"
import * as WeightFiles from "./file/WeightFiles.ts"
import type { Tensor } from "./Weights.ts"

export { singleFile } from "./file/WeightFiles.ts"

export const configFile = "config.json"
/** Generation settings; only the end-of-sequence tokens are used. */
export const generationFile = "generation_config.json"
export const adapterFile = "adapter_config.json"
export const tokenizerFiles = ["tokenizer.json", "tokenizer_config.json", "chat_template.jinja"]
/** Chat template file in some multimodal models' folders. */
const processorTemplate = "chat_template.json"

const decodeJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))
const decodeRecord = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown)))

const types = { F32: "float32", F16: "float16", BF16: "bfloat16" } as const

const isFloat = (type: Safetensors.SafetensorsType): type is keyof typeof types => Object.hasOwn(types, type)

/**
 * Returns whether the output matrix is tied to the embedding. Multimodal models may state it in two files in different
 * ways, and published ones omit it: like transformers, checks if there is a separate matrix.
 */
const hasTiedHead = Effect.fnUntraced(function* (folder: string, config: ModelConfig.ModelConfig) {
  if (config.textOf === undefined) return config.hasTiedHead
  return Option.match(yield* WeightFiles.tensorNames(folder), {
    onNone: () => config.hasTiedHead,
    onSome: (names) => !names.has(Tensors.head)
  })
})

/** Error for a folder without a configuration, with its actual contents if recognised. */
const withoutConfig = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const files = yield* Effect.orElseSucceed(fs.readDirectory(folder), (): ReadonlyArray<string> => [])
  const file = files.find((name) => LocalPath.ggufPattern.test(name))
  if (file !== undefined) return `${folder} contains a GGUF file (${file}), ${LocalPath.gguf}`
  if (!files.includes(adapterFile)) {
    return `${folder} has no ${configFile}: a model's folder contains ${configFile}, ${WeightFiles.singleFile} and a tokenizer`
  }
  const written = yield* Effect.option(fs.readFileString(join(folder, adapterFile)))
  const base = Option.flatMap(Option.flatMap(written, decodeRecord), (record) =>
    Option.fromNullishOr(record["base_model_name_or_path"])
  )
  const model = Option.match(base, { onNone: () => "BASE", onSome: String })
  return (
    `${folder} contains an adapter (PEFT), not a full model: --model ${model} --adapter ${folder} serves both (atropos policy); ` +
    `atropos merge MERGED --model ${model} --adapter ${folder} merges them into a regular model`
  )
})

/** The text of `config.json`, and its JSON. */
export const readConfigFile = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const fail = (reason: ModelError["reason"], message: string) => new ModelError({ reason, model: folder, message })
  if (!(yield* Effect.orElseSucceed(fs.exists(join(folder, configFile)), () => false))) {
    return yield* fail("missing", yield* withoutConfig(folder))
  }
  const text = yield* WeightFiles.readText(join(folder, configFile))
  const json = decodeJson(text)
  if (Option.isNone(json)) return yield* fail("damaged", `${join(folder, configFile)} is not JSON`)
  return { text, json: json.value }
})

export const readConfig = Effect.fn("ModelFolder.readConfig")(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const fail = (reason: ModelError["reason"], message: string) => new ModelError({ reason, model: folder, message })
  const { json, text } = yield* readConfigFile(folder)
  const config = ModelConfig.parse(json)
  if (Result.isFailure(config)) return yield* fail("unsupported", `${join(folder, configFile)}: ${config.failure}`)
  // Chat models end a turn with another token than a text; only the generation file lists both.
  const isThere = yield* Effect.orElseSucceed(fs.exists(join(folder, generationFile)), () => false)
  const generation = isThere ? Option.some(yield* WeightFiles.readText(join(folder, generationFile))) : Option.none()
  const ends = Option.flatMap(generation, ModelConfig.endTokens)
  const stranger = ModelConfig.strangerOf(
    Option.getOrElse(ends, () => []),
    config.success.vocabSize
  )
  if (stranger !== undefined) return yield* fail("damaged", `${join(folder, generationFile)}: ${stranger}`)
  return {
    ...config.success,
    hasTiedHead: yield* hasTiedHead(folder, config.success),
    eosTokenIds: Option.getOrElse(ends, () => config.success.eosTokenIds),
    file: Option.match(decodeRecord(NumberText.keep(text)), {
      onNone: () => config.success.file,
      onSome: (record) => TextPart.read(record).file
    })
  }
})

/** Similarity of two names: number of equal dotted parts from either end. */
const likeness = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): number => {
  const shorter = Math.min(a.length, b.length)
  let front = 0
  while (front < shorter && a[front] === b[front]) front++
  let back = 0
  while (back < shorter - front && a.at(-1 - back) === b.at(-1 - back)) back++
  return front + back
}

const nearest = (name: string, names: Iterable<string>): string => {
  const parts = name.split(".")
  let best = ""
  let max = 0
  for (const other of names) {
    const score = likeness(parts, other.split("."))
    if (score > max) [best, max] = [other, score]
  }
  return best === "" ? "" : `; the closest unused name is ${best}`
}

const check = (
  config: ModelConfig.ModelConfig,
  entries: ReadonlyMap<string, Safetensors.Entry>
): string | undefined => {
  const needed = Tensors.all(config)
  const spare = new Set(entries.keys()).difference(new Set(needed.map(({ name }) => name)))
  for (const { name, shape } of needed) {
    const entry = entries.get(name)
    if (entry === undefined) return `the tensor ${name} [${shape.join(", ")}] is missing${nearest(name, spare)}`
    if (entry.shape.join() !== shape.join()) {
      return `the tensor ${name} is [${entry.shape.join(", ")}] in ${entry.file}, the configuration needs [${shape.join(", ")}]`
    }
    if (!isFloat(entry.dtype))
      return `the tensor ${name} is ${entry.dtype} in ${entry.file}; F32, F16 or BF16 are needed`
  }
  return undefined
}

export const readEntries = Effect.fn("ModelFolder.readEntries")(function* (
  folder: string,
  config: ModelConfig.ModelConfig
) {
  const fs = yield* FileSystem.FileSystem
  const entries = new Map<string, Safetensors.Entry>()
  for (const path of yield* WeightFiles.paths(folder)) {
    // The hub cache uses symlinks to blobs; constants are read from the real path.
    const real = yield* Effect.orElseSucceed(fs.realPath(path), () => path)
    for (const [name, entry] of (yield* Safetensors.head(real)).tensors) {
      entries.set(TextPart.plainName(name), entry)
    }
  }
  const problem = check(config, entries)
  if (problem !== undefined) {
    return yield* new ModelError({ reason: "mismatch", model: folder, message: `${folder}: ${problem}` })
  }
  return entries
})

/** Logs which parts of a multimodal model are not loaded; nothing for other models. */
export const tellTextPart = (
  model: string,
  config: ModelConfig.ModelConfig,
  entries: ReadonlyMap<string, Safetensors.Entry>
): Effect.Effect<void> =>
  config.textOf === undefined
    ? Effect.void
    : Effect.logInfo("using the text part of this model; ignoring its vision layers", {
        model,
        tensorsPassedOver: entries.size - Tensors.all(config).length
      })

/**
 * Fails if a weight is NaN or infinite: the model's output would be too, and no update fixes it. Reads all weights,
 * about a second per gigabyte.
 */
const look = Effect.fn("ModelFolder.checkFinite")(function* (
  folder: string,
  config: ModelConfig.ModelConfig,
  entries: ReadonlyMap<string, Safetensors.Entry>
) {
  for (const { name } of Tensors.all(config)) {
    // Checked by `readEntries`.
    const entry = entries.get(name)!
    const at = yield* Safetensors.firstNotFinite(entry)
    if (at !== undefined) {
      return yield* new ModelError({
        reason: "damaged",
        model: folder,
        message: `${folder}: the tensor ${name} is NaN or infinite at element ${at} (${entry.file}): weights of a diverged run, or a corrupt file`
      })
    }
  }
})

/** File size in bytes below which results are not cached. */
const large = 2 ** 28

/**
 * Fails if a weight is NaN or infinite. Files that passed are not read again while unchanged: the cache stores that
 * (`base/CacheFile`, kind `checked`).
 */
export const checkFinite = Effect.fnUntraced(function* (
  folder: string,
  config: ModelConfig.ModelConfig,
  entries: ReadonlyMap<string, Safetensors.Entry>
) {
  const checked = look(folder, config, entries)
  const all = Tensors.all(config).map(({ name }) => entries.get(name)!)
  const bytes = all.reduce((sum, { dtype, length }) => sum + (dtype === "F32" ? 4 : 2) * length, 0)
  if (bytes < large) return yield* checked
  const fs = yield* FileSystem.FileSystem
  const marker = yield* Effect.option(
    Effect.flatMap(
      CacheFile.nameOf(
        all.map(({ file }) => file),
        "finite"
      ),
      (name) => CacheFile.path("checked", name)
    )
  )
  if (Option.isNone(marker)) return yield* checked
  if (yield* Effect.orElseSucceed(fs.exists(marker.value), () => false)) return
  yield* checked
  // Without a writable cache, the next start takes several seconds longer.
  yield* Effect.ignore(CacheFile.ensure(marker.value, (partial) => fs.writeFileString(partial, folder)))
})

/** All or some tensors, as constants that are read in place. */
export const weights = (
  config: ModelConfig.ModelConfig,
  entries: ReadonlyMap<string, Safetensors.Entry>
): ReadonlyMap<string, Tensor> =>
  new Map(
    Tensors.all(config).flatMap(({ name }): ReadonlyArray<readonly [string, Tensor]> => {
      const entry = entries.get(name)
      if (entry === undefined) return []
      const { dtype, file, offset, shape } = entry
      // Checked by `readEntries`.
      return [[name, { dtype: types[dtype as keyof typeof types], shape, data: { file, offset } }]]
    })
  )

/** Writes a model; its weights must be in memory. */
export const write = Effect.fn("ModelFolder.write")(
  function* (folder: string, config: ModelConfig.ModelConfig, tensors: ReadonlyMap<string, Tensor>) {
    const fs = yield* FileSystem.FileSystem
    const { join } = yield* Path.Path
    yield* fs.makeDirectory(folder, { recursive: true })
    const values = [...tensors].flatMap(([name, { data, shape }]) =>
      data instanceof Float32Array ? [{ name, shape, values: data }] : []
    )
    yield* Safetensors.write(join(folder, WeightFiles.singleFile), values, "F32")
    yield* writeJson(folder, { [configFile]: ModelConfig.encode(config) })
  },
  (effect, folder) => Effect.mapError(effect, unwritten(folder))
)

export const writeJson = Effect.fn("ModelFolder.writeJson")(
  function* (folder: string, files: { readonly [file: string]: unknown }) {
    const fs = yield* FileSystem.FileSystem
    const { join } = yield* Path.Path
    for (const [name, value] of Object.entries(files)) {
      yield* fs.writeFileString(join(folder, name), `${NumberText.restore(JSON.stringify(value, null, 2))}\n`)
    }
  },
  (effect, folder) => Effect.mapError(effect, unwritten(folder))
)

/** Copies the tokenizer and generation settings to a model's folder. */
export const copyTokenizer = Effect.fn("ModelFolder.copyTokenizer")(
  function* (from: string, to: string) {
    const fs = yield* FileSystem.FileSystem
    const { join } = yield* Path.Path
    for (const name of [...tokenizerFiles, processorTemplate, generationFile]) {
      if (yield* fs.exists(join(from, name))) yield* fs.copyFile(join(from, name), join(to, name))
    }
  },
  (effect, _, to) => Effect.mapError(effect, unwritten(to))
)
