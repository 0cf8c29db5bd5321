/**
 * Files that are made once of other files, and kept for every process.
 *
 * They lie in a folder for each kind, in `$ATROPOS_CACHE_DIR`, else `$XDG_CACHE_HOME/atropos`, else `~/.cache/atropos`.
 *
 * A file is there whole or not at all, whoever writes it at the same time, and may be removed at any time.
 */
import { createHash } from "node:crypto"
import { homedir } from "node:os"
import * as Platform from "@atropos/core/base/Platform"
import { Config, Effect, FileSystem, Option, Path } from "effect"

const variable = (name: string) =>
  Effect.map(Effect.orDie(Config.option(Config.NonEmptyString(name))), Option.getOrUndefined)

/** Where the file of this name lies, or would. */
export const path = Effect.fnUntraced(function* (kind: string, name: string) {
  const { join } = yield* Path.Path
  const own = yield* variable("ATROPOS_CACHE_DIR")
  const shared = yield* variable("XDG_CACHE_HOME")
  return join(own ?? join(shared ?? join(homedir(), ".cache"), "atropos"), kind, name)
})

/** A name for what is made of these files in this way: another one where a file's size or time of change is another. */
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

/** Removes what killed processes had begun to write. */
const tidy = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  for (const name of yield* fs.readDirectory(folder)) {
    const writer = partialOf.exec(name)?.[1]
    if (writer !== undefined && !(yield* Platform.isAlive(Number(writer))))
      yield* fs.remove(join(folder, name), { force: true })
  }
})

/** Makes the file if it is not there: `write` gets a name of its own, which others do not look for. */
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
