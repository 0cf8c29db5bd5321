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

export interface Source {
  readonly parameters?: Float32Array
  /** A PEFT folder; it is copied, and may be deleted afterwards. */
  readonly adapterFolder?: string
}

const failed = (what: string) => (cause: { readonly message: string }) =>
  new TargetError({ target: "adapter folder", message: `${what}: ${cause.message}`, isPermanent: true, cause })

/** Writes an adapter to `root/name`; the name appears only when complete. */
export const write = Effect.fn("AdapterFolders.write")(function* (
  root: string,
  name: string,
  { adapterFolder, parameters }: Source,
  writeAdapter: WriteAdapter | undefined
) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const folder = join(root, name)
  const partial = join(root, `.${name}.partial`)
  yield* Effect.gen(function* () {
    yield* fs.remove(partial, { recursive: true, force: true })
    if (adapterFolder !== undefined) {
      yield* fs.makeDirectory(root, { recursive: true })
      yield* fs.copy(adapterFolder, partial)
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
