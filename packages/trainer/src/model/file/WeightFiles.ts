/**
 * Locates the weight files of a model's folder (`model.safetensors`, or shards with `model.safetensors.index.json`),
 * and reads its small text files with a size limit.
 */
import * as Nesting from "@atropos/core/base/json/Nesting"
import { Effect, FileSystem, Option, Path, Schema } from "effect"
import * as TextPart from "../family/TextPart.ts"
import { ModelError } from "./ModelError.ts"
import * as Safetensors from "./Safetensors.ts"

export const singleFile = "model.safetensors"
export const indexFile = "model.safetensors.index.json"

const decodeIndex = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ weight_map: Schema.Record(Schema.String, Schema.String) }))
)

/** Configurations have a few kilobytes; the index of a thousand shards a few megabytes. */
const maxTextBytes = 2 ** 20
const maxIndexBytes = 2 ** 26

/** Reads a settings file; rejects non-text files and files above `maxBytes` bytes before reading. */
export const readText = Effect.fnUntraced(function* (path: string, maxBytes = maxTextBytes) {
  const fs = yield* FileSystem.FileSystem
  const fail = (message: string) => new ModelError({ reason: "damaged", model: path, message: `${path} ${message}` })
  const unreadable = ({ message }: { readonly message: string }) => fail(`cannot be read: ${message}`)
  const { size, type } = yield* Effect.mapError(fs.stat(path), unreadable)
  if (type !== "File") return yield* fail(`is not a file but a ${type.toLowerCase()}`)
  if (size > maxBytes) return yield* fail(`has ${size} bytes; such a file usually has a few thousand`)
  const text = yield* Effect.mapError(fs.readFileString(path), unreadable)
  if (Nesting.exceeds(text, { opened: maxBytes })) return yield* fail("is nested too deeply")
  return text
})

/** File names of shards in the folder's index; they are in the same folder. */
export const shardNames = Effect.fnUntraced(function* (folder: string) {
  const { basename, join } = yield* Path.Path
  const fail = (reason: ModelError["reason"], message: string) => new ModelError({ reason, model: folder, message })
  const text = yield* readText(join(folder, indexFile), maxIndexBytes)
  const index = Option.getOrUndefined(decodeIndex(text))
  if (index === undefined) return yield* fail("damaged", `${join(folder, indexFile)} has no weight_map`)
  const files = [...new Set(Object.values(index.weight_map))].sort()
  const outside = files.find((name) => name !== basename(name) || !name.endsWith(".safetensors"))
  if (outside !== undefined) {
    return yield* fail(
      "damaged",
      `${join(folder, indexFile)} names "${outside}", which is not a safetensors file in its folder`
    )
  }
  return files
})

export const paths = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const fail = (reason: ModelError["reason"], message: string) => new ModelError({ reason, model: folder, message })
  const names = yield* Effect.orElseSucceed(fs.readDirectory(folder), (): Array<string> => [])
  if (!names.includes(indexFile)) {
    if (names.includes(singleFile)) return [join(folder, singleFile)]
    const other = names.find((name) => /\.(bin|pt|gguf)$/.test(name))
    const instead = other === undefined ? "" : `; ${other} is not supported: save the model as safetensors`
    return yield* fail("missing", `${folder} has no ${singleFile} and no ${indexFile}${instead}`)
  }
  const files = yield* shardNames(folder)
  const missing = files.find((name) => !names.includes(name))
  if (missing !== undefined) return yield* fail("missing", `${folder} has no ${missing}, which ${indexFile} names`)
  return files.map((name) => join(folder, name))
})

/** Names of the tensors in a folder's files, as in a text model; none if the weights are not downloaded yet. */
export const tensorNames = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const [index, single] = [join(folder, indexFile), join(folder, singleFile)]
  const isThere = (path: string) => Effect.orElseSucceed(fs.exists(path), () => false)
  if (yield* isThere(index)) {
    const found = decodeIndex(yield* readText(index, maxIndexBytes))
    return Option.map(found, ({ weight_map: map }) => new Set(Object.keys(map).map(TextPart.plainName)))
  }
  if (!(yield* isThere(single))) return Option.none()
  return Option.some(new Set([...(yield* Safetensors.head(single)).tensors.keys()].map(TextPart.plainName)))
})
