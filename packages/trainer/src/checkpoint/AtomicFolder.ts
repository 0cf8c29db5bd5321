/**
 * Writes folders atomically: under a hidden name (`.step_12.partial`), synced to disk and renamed. A folder under its
 * final name is complete and survives a power loss.
 */
import { Effect, FileSystem, Path } from "effect"
import * as CheckpointError from "./CheckpointError.ts"

const suffix = ".partial"

/** True for the name of a folder that was being written or removed. */
export const isPartial = (name: string): boolean => name.startsWith(".") && name.endsWith(suffix)

/** Syncs a path to disk: a file's bytes, or a folder's entries. */
const sync = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  const file = yield* fs.open(path, { flag: "r" })
  yield* file.sync
}, Effect.scoped)

const syncAll = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  for (const name of yield* fs.readDirectory(folder, { recursive: true })) yield* sync(join(folder, name))
  yield* sync(folder)
})

/**
 * Writes a folder at `path`, filled by `fill`; replaces an existing one. `before` runs when everything except the
 * rename is on disk.
 */
export const write = Effect.fn("AtomicFolder.write")(function* <E, R>(
  path: string,
  fill: (folder: string) => Effect.Effect<void, E, R>,
  before: Effect.Effect<void> = Effect.void
) {
  const fs = yield* FileSystem.FileSystem
  const { basename, dirname, join } = yield* Path.Path
  const failed = Effect.mapError(CheckpointError.at(path))
  const partial = join(dirname(path), `.${basename(path)}${suffix}`)
  yield* failed(fs.remove(partial, { recursive: true, force: true }))
  yield* failed(fs.makeDirectory(partial, { recursive: true }))
  yield* fill(partial)
  yield* failed(syncAll(partial))
  yield* before
  yield* Effect.uninterruptible(
    Effect.gen(function* () {
      if (yield* failed(fs.exists(path))) yield* remove(path)
      yield* failed(fs.rename(partial, path))
      yield* failed(sync(dirname(path)))
    })
  )
})

/** Removes a folder; it loses its name immediately. */
export const remove = Effect.fn("AtomicFolder.remove")(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  const { basename, dirname, join } = yield* Path.Path
  const old = join(dirname(path), `.${basename(path)}.old${suffix}`)
  yield* fs
    .remove(old, { recursive: true, force: true })
    .pipe(
      Effect.andThen(fs.rename(path, old)),
      Effect.andThen(fs.remove(old, { recursive: true, force: true })),
      Effect.mapError(CheckpointError.at(path))
    )
})
