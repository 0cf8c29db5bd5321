/**
 * Weights in half precision, widened to float32 once: into a file of the cache that every graph and process maps,
 * instead of a private copy in each.
 *
 * The file lies in `$ATROPOS_CACHE_DIR`, else `$XDG_CACHE_HOME/atropos`, else `~/.cache/atropos`, under `weights/`,
 * named by what it was made of (files, sizes, times of change, tensors): a changed model makes another one. It is there
 * whole or not at all, whoever writes it at the same time. It may be removed at any time, and takes 4 bytes a
 * parameter.
 */
import { createHash } from "node:crypto"
import { homedir } from "node:os"
import * as Platform from "@atropos/core/base/Platform"
import { Config, Effect, FileSystem, Option, Path } from "effect"
import * as Safetensors from "./Safetensors.ts"

type Entries = ReadonlyMap<string, Safetensors.Entry>

/** Bytes of widened weights below which a private copy costs less than a file. */
const least = 64 * 2 ** 20

const variable = (name: string) =>
  Effect.map(Effect.orDie(Config.option(Config.NonEmptyString(name))), Option.getOrUndefined)

const cacheFolder = Effect.gen(function* () {
  const { join } = yield* Path.Path
  const own = yield* variable("ATROPOS_CACHE_DIR")
  const shared = yield* variable("XDG_CACHE_HOME")
  return join(own ?? join(shared ?? join(homedir(), ".cache"), "atropos"), "weights")
})

/** What tells one set of half-precision tensors from another. */
const identity = Effect.fnUntraced(function* (halves: Entries) {
  const fs = yield* FileSystem.FileSystem
  const hash = createHash("sha256")
  const files = [...new Set([...halves.values()].map(({ file }) => file))].sort()
  for (const file of files) {
    const { mtime, size } = yield* fs.stat(file)
    hash.update(JSON.stringify([file, String(size), Option.map(mtime, (time) => time.getTime())]))
  }
  for (const [name, entry] of halves) hash.update(JSON.stringify([name, entry]))
  return hash.digest("hex").slice(0, 32)
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

/** Writes the file under a name of its own, then gives it the one that others look for. */
const make = Effect.fnUntraced(function* (path: string, halves: Entries) {
  const fs = yield* FileSystem.FileSystem
  const { dirname } = yield* Path.Path
  yield* fs.makeDirectory(dirname(path), { recursive: true })
  yield* tidy(dirname(path))
  const partial = `${path}.${process.pid}.${parts++}.partial`
  yield* Safetensors.writeWidened(partial, halves).pipe(
    Effect.andThen(fs.rename(partial, path)),
    Effect.onError(() => Effect.ignore(fs.remove(partial, { force: true })))
  )
})

/**
 * The entries, those in half precision replaced by their place in the cache's file. Where it cannot be written, they
 * stay as they are, and the log says what that costs. `from`: bytes of widened weights from which a file is made.
 */
export const cached = Effect.fn("WidenedWeights.cached")(function* (entries: Entries, from = least) {
  const halves: Entries = new Map([...entries].filter(([, { dtype }]) => dtype === "BF16" || dtype === "F16"))
  const bytes = halves.values().reduce((sum, { length }) => sum + 2 * length, 0)
  if (halves.size === 0 || bytes < from) return entries
  const { join } = yield* Path.Path
  const fs = yield* FileSystem.FileSystem
  return yield* Effect.gen(function* () {
    const path = join(yield* cacheFolder, `${yield* identity(halves)}.safetensors`)
    if (!(yield* fs.exists(path))) {
      yield* Effect.logInfo("widening weights to float32, once", { file: path, megabytes: Math.round(bytes / 1e6) })
      yield* make(path, halves)
    }
    return new Map([...entries, ...(yield* Safetensors.head(path)).tensors])
  }).pipe(
    Effect.catch((cause) =>
      Effect.as(
        Effect.logWarning("widened weights are not cached: every graph holds its own copy", {
          megabytes: Math.round(bytes / 1e6),
          because: cause.message
        }),
        entries
      )
    )
  )
})
