/**
 * Writes the folders that servers load adapters from: one per version, written atomically, kept while a server may read
 * it again (vLLM does when an adapter falls out of its cache).
 */
import { Effect, FileSystem, Path } from "effect"
import { TargetError } from "./Target.ts"

/** Writes an adapter in PEFT format into an existing folder. */
export type WriteAdapter = (
  folder: string,
  parameters: Float32Array
) => Effect.Effect<void, { readonly message: string }, FileSystem.FileSystem | Path.Path>

/** Weights: parameters flat in the model's layout, or what writes them into a folder as an adapter or a model. */
export interface Source {
  readonly parameters?: Float32Array
  readonly write?: (folder: string) => Effect.Effect<void, { readonly message: string }>
}

const failed = (what: string) => (cause: { readonly message: string }) =>
  new TargetError({ target: "adapter folder", message: `${what}: ${cause.message}`, isPermanent: true, cause })

/** Writes an adapter to `root/name`; the name appears only when complete. */
export const write = Effect.fn("AdapterFolders.write")(function* (
  root: string,
  name: string,
  { parameters, write: writeSource }: Source,
  writeAdapter: WriteAdapter | undefined
) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const folder = join(root, name)
  const partial = join(root, `.${name}.partial`)
  yield* Effect.gen(function* () {
    yield* fs.remove(partial, { recursive: true, force: true })
    if (writeSource !== undefined) {
      yield* fs.makeDirectory(partial, { recursive: true })
      yield* writeSource(partial)
    } else if (parameters !== undefined && writeAdapter !== undefined) {
      yield* fs.makeDirectory(partial, { recursive: true })
      yield* writeAdapter(partial, parameters)
    } else {
      return yield* Effect.fail({ message: "neither an adapter folder nor writeAdapter is set" })
    }
    yield* fs.rename(partial, folder)
  }).pipe(Effect.mapError(failed(`cannot write ${folder}`)))
  return folder
})

/** Removes the folder of a version that no server holds any more. */
export const remove = Effect.fn("AdapterFolders.remove")(function* (root: string, name: string) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  yield* fs.remove(join(root, name), { recursive: true, force: true })
})
