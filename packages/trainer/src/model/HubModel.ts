/**
 * Downloads models of the Hugging Face hub, once, into the cache shared with core's tokenizers and data sets.
 *
 * A name is `owner/name` or `owner/name@revision`. The configuration is checked first, so that unsupported
 * architectures fail early. Files are written atomically, and interrupted downloads are resumed (`HubFiles`); later no
 * network is needed. Respects `HF_TOKEN`, `HF_HOME`, `HF_ENDPOINT`, `HF_HUB_OFFLINE`.
 */
import { HubFiles } from "@atropos/core"
import { Effect, FileSystem, Path } from "effect"
import { ModelError } from "./file/ModelError.ts"
import * as ModelFolder from "./ModelFolder.ts"
import * as WeightFiles from "./file/WeightFiles.ts"

/** Parallel downloads of shards: enough to fill the connection, few enough to be resumed soon. */
const concurrency = 4

/** The folder of the model's files; `weights` false: only configuration and tokenizer. */
export const download = Effect.fn("HubModel.download")(function* (name: string, weights = true) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const repository = HubFiles.repository(name)
  const failed = (cause: { readonly message: string }) =>
    new ModelError({ reason: "hub", model: name, message: `${name}: ${cause.message}`, cause })
  if (repository === undefined) {
    return yield* new ModelError({
      reason: "missing",
      model: name,
      message: `"${name}" is neither a local folder nor a hub id (owner/name or owner/name@revision)`
    })
  }
  const hub = yield* Effect.mapError(HubFiles.make, failed)
  const folder = yield* Effect.mapError(hub.cacheFolder("models", repository.folder), failed)
  const fetchFile = (file: string) => hub.fetch(`${repository.address}/${file}`, join(folder, file))

  /** Returns whether the repository has the file; its absence is stored, so that the next start needs no network. */
  const fetchOptional = Effect.fnUntraced(function* (file: string) {
    const absent = join(folder, `${file}.absent`)
    if (yield* fs.exists(absent)) return false
    return yield* fetchFile(file).pipe(
      Effect.as(true),
      Effect.catchIf(
        ({ reason }) => reason === "notFound",
        () => Effect.as(fs.writeFileString(absent, ""), false)
      )
    )
  }, Effect.mapError(failed))

  yield* Effect.mapError(fetchFile(ModelFolder.configFile), failed)
  yield* ModelFolder.readConfig(folder)
  yield* Effect.forEach([...ModelFolder.tokenizerFiles, ModelFolder.generationFile], fetchOptional, {
    concurrency,
    discard: true
  })
  if (!weights) return folder
  const isSharded = yield* fetchOptional(WeightFiles.indexFile)
  const files = isSharded ? yield* WeightFiles.shardNames(folder) : [WeightFiles.singleFile]
  const present = yield* Effect.mapError(fs.readDirectory(folder), failed)
  const missing = files.filter((file) => !present.includes(file))
  // This takes minutes.
  if (missing.length > 0) yield* Effect.logInfo("downloading weights", { model: name, files: missing })
  yield* Effect.mapError(Effect.forEach(missing, fetchFile, { concurrency, discard: true }), failed)
  return folder
})
