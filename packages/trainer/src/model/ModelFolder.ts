/**
 * Models as Hugging Face's folders: `config.json`, and `model.safetensors` or shards with `model.safetensors.index.json`.
 *
 * Reading checks every tensor of the architecture against what the configuration says, before anything is loaded. Tensors of another
 * type than bf16, f16 or f32, missing ones and such of another shape are named; spare ones are ignored.
 */
import { Effect, FileSystem, Option, Path, Result, Schema } from "effect"
import * as ModelConfig from "./ModelConfig.ts"
import { ModelError } from "./ModelError.ts"
import * as Safetensors from "./Safetensors.ts"
import * as Tensors from "./Tensors.ts"
import type { Tensor, Weights } from "./Weights.ts"

const configFile = "config.json"
const singleFile = "model.safetensors"
const indexFile = "model.safetensors.index.json"

const decodeJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))
const decodeIndex = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ weight_map: Schema.Record(Schema.String, Schema.String) }))
)

const types = { F32: "float32", F16: "float16", BF16: "bfloat16" } as const

const isFloat = (type: Safetensors.SafetensorsType): type is keyof typeof types => Object.hasOwn(types, type)

/** The files of shards that an index names; they lie beside it. */
export const shards = (text: string): ReadonlyArray<string> | undefined => {
  const index = Option.getOrUndefined(decodeIndex(text))
  return index === undefined ? undefined : [...new Set(Object.values(index.weight_map))].sort()
}

/** The architecture of a folder's model. */
export const readConfig = Effect.fn("ModelFolder.readConfig")(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const fail = (reason: ModelError["reason"], message: string) => new ModelError({ reason, model: folder, message })
  const text = yield* Effect.mapError(fs.readFileString(join(folder, configFile)), () =>
    fail(
      "missing",
      `${folder} has no ${configFile}: a model's folder holds ${configFile}, ${singleFile} and a tokenizer`
    )
  )
  const json = decodeJson(text)
  if (Option.isNone(json)) return yield* fail("damaged", `${join(folder, configFile)} is not JSON`)
  const config = ModelConfig.parse(json.value)
  return Result.isSuccess(config)
    ? config.success
    : yield* fail("unsupported", `${join(folder, configFile)}: ${config.failure}`)
})

/** The files that hold the weights. */
const weightFiles = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const { basename, join } = yield* Path.Path
  const fail = (reason: ModelError["reason"], message: string) => new ModelError({ reason, model: folder, message })
  const names = yield* Effect.orElseSucceed(fs.readDirectory(folder), (): Array<string> => [])
  if (!names.includes(indexFile)) {
    if (names.includes(singleFile)) return [join(folder, singleFile)]
    const other = names.find((name) => /\.(bin|pt|gguf)$/.test(name))
    const instead = other === undefined ? "" : `; ${other} cannot be read, save the model as safetensors`
    return yield* fail("missing", `${folder} has no ${singleFile} and no ${indexFile}${instead}`)
  }
  const text = yield* Effect.mapError(fs.readFileString(join(folder, indexFile)), ({ message }) =>
    fail("missing", message)
  )
  const files = shards(text)
  if (files === undefined) return yield* fail("damaged", `${join(folder, indexFile)} has no weight_map`)
  const outside = files.find((name) => name !== basename(name))
  if (outside !== undefined)
    return yield* fail("damaged", `${indexFile} names "${outside}", which is not in the folder`)
  const missing = files.find((name) => !names.includes(name))
  if (missing !== undefined) return yield* fail("missing", `${folder} has no ${missing}, which ${indexFile} names`)
  return files.map((name) => join(folder, name))
})

/** The names of a file that look like a wanted one: its last parts are the same. */
const alike = (name: string, names: Iterable<string>): string => {
  const end = name.split(".").slice(-3).join(".")
  const found = [...names].find((other) => other.endsWith(end))
  return found === undefined ? "" : `; there is ${found}`
}

const check = (
  config: ModelConfig.ModelConfig,
  entries: ReadonlyMap<string, Safetensors.Entry>
): string | undefined => {
  for (const { name, shape } of Tensors.all(config)) {
    const entry = entries.get(name)
    if (entry === undefined) return `the tensor ${name} [${shape.join(", ")}] is missing${alike(name, entries.keys())}`
    if (entry.shape.join() !== shape.join()) {
      return `the tensor ${name} is [${entry.shape.join(", ")}] in ${entry.file}, the configuration needs [${shape.join(", ")}]`
    }
    if (!isFloat(entry.dtype))
      return `the tensor ${name} is ${entry.dtype} in ${entry.file}; F32, F16 or BF16 are needed`
  }
  return undefined
}

/** Where the architecture's tensors lie. */
export const readEntries = Effect.fn("ModelFolder.readEntries")(function* (
  folder: string,
  config: ModelConfig.ModelConfig
) {
  const fs = yield* FileSystem.FileSystem
  const entries = new Map<string, Safetensors.Entry>()
  for (const path of yield* weightFiles(folder)) {
    // The hub's own cache links to its blobs; constants are read from the real place.
    const real = yield* Effect.orElseSucceed(fs.realPath(path), () => path)
    for (const [name, entry] of (yield* Safetensors.head(real)).tensors) entries.set(name, entry)
  }
  const problem = check(config, entries)
  if (problem !== undefined) {
    return yield* new ModelError({ reason: "mismatch", model: folder, message: `${folder}: ${problem}` })
  }
  return entries
})

/** The tensors as constants that are read in place. */
export const weights = (config: ModelConfig.ModelConfig, entries: ReadonlyMap<string, Safetensors.Entry>): Weights =>
  new Map(
    Tensors.all(config).map(({ name }): readonly [string, Tensor] => {
      // Checked by `readEntries`.
      const { dtype, file, offset, shape } = entries.get(name)!
      return [name, { dtype: types[dtype as keyof typeof types], shape, data: { file, offset } }]
    })
  )

/** Writes a model; its weights must be values. */
export const write = Effect.fn("ModelFolder.write")(function* (
  folder: string,
  config: ModelConfig.ModelConfig,
  tensors: Weights
) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const failed = Effect.mapError(
    (cause: { readonly message: string }) =>
      new ModelError({
        reason: "damaged",
        model: folder,
        message: `${folder} cannot be written: ${cause.message}`,
        cause
      })
  )
  yield* failed(fs.makeDirectory(folder, { recursive: true }))
  yield* failed(
    fs.writeFileString(join(folder, configFile), `${JSON.stringify(ModelConfig.encode(config), null, 2)}\n`)
  )
  const values = [...tensors].flatMap(([name, { data, shape }]) =>
    data instanceof Float32Array ? [{ name, shape, values: data }] : []
  )
  yield* Safetensors.write(join(folder, singleFile), values, "F32")
})
