/**
 * Caches files derived from other files, shared by all processes.
 *
 * They are in a folder per kind, in `$ATROPOS_CACHE_DIR`, else `$XDG_CACHE_HOME/atropos`, else `~/.cache/atropos`.
 * Files are written atomically, safe with concurrent writers, and may be removed at any time.
 */
import { createHash } from "node:crypto"
import { homedir } from "node:os"
import * as Platform from "@atropos/core/base/system/Platform"
import { Config, Effect, FileSystem, Option, Path } from "effect"

const variable = (name: string) =>
  Effect.map(Effect.orDie(Config.option(Config.NonEmptyString(name))), Option.getOrUndefined)

/** Path of the file with this name; it may not exist. */
export const path = Effect.fnUntraced(function* (kind: string, name: string) {
  const { join } = yield* Path.Path
  const own = yield* variable("ATROPOS_CACHE_DIR")
  const shared = yield* variable("XDG_CACHE_HOME")
  return join(own ?? join(shared ?? join(homedir(), ".cache"), "atropos"), kind, name)
})

/** Cache name for a derivation of these files: changes with a file's size or modification time. */
export const nameOf = Effect.fnUntraced(function* (files: Iterable<string>, way: unknown) {
  const fs = yield* FileSystem.FileSystem
  const hash = createHash("sha256")
  for (const file of [...new Set(files)].sort()) {
    const { mtime, size } = yield* fs.stat(file)
    hash.update(JSON.stringify([file, String(size), Option.map(mtime, (time) => time.getTime())]))
  }
  return hash.update(JSON.stringify(way)).digest("hex").slice(0, 32)
})

const partialOf = /\.(\d+)\.\d+\.partial$/

let parts = 0

const tidy = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  for (const name of yield* fs.readDirectory(folder)) {
    const writer = partialOf.exec(name)?.[1]
    if (writer !== undefined && !(yield* Platform.isAlive(Number(writer))))
      yield* fs.remove(join(folder, name), { force: true })
  }
})

/** Creates the file if missing: `write` receives a unique temporary path. */
export const ensure = Effect.fnUntraced(function* <E, R>(
  file: string,
  write: (partial: string) => Effect.Effect<void, E, R>
) {
  const fs = yield* FileSystem.FileSystem
  const { dirname } = yield* Path.Path
  if (yield* fs.exists(file)) return
  yield* fs.makeDirectory(dirname(file), { recursive: true })
  yield* tidy(dirname(file))
  const partial = `${file}.${process.pid}.${parts++}.partial`
  yield* write(partial).pipe(
    Effect.andThen(fs.rename(partial, file)),
    Effect.onError(() => Effect.ignore(fs.remove(partial, { force: true })))
  )
})
