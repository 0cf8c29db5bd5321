/**
 * Converts half-precision weights to float32 once, 4 bytes per parameter, into a file of the cache (`base/CacheFile`,
 * kind `weights`) that every graph and process maps. Its name derives from files, sizes, modification times and
 * tensors, so a changed model gets another one.
 */
import { Effect } from "effect"
import * as CacheFile from "../../base/CacheFile.ts"
import * as Safetensors from "./Safetensors.ts"

type Entries = ReadonlyMap<string, Safetensors.Entry>

/** Bytes of converted weights below which a private copy is cheaper than a file. */
const min = 64 * 2 ** 20

/** Elements converted before yielding to the event loop. */
const stretch = 2 ** 20

const write = (path: string, halves: Entries) =>
  Safetensors.writeParts(
    path,
    halves.entries().map(([name, { shape }]) => ({ name, shape, dtype: "F32" })),
    Effect.fnUntraced(function* (write) {
      for (const entry of halves.values()) {
        for (let at = 0; at < entry.length; at += 2 * stretch) {
          const length = Math.min(2 * stretch, entry.length - at)
          const values = yield* Safetensors.floats({ ...entry, offset: entry.offset + at, length })
          yield* write(new Uint8Array(values.buffer))
        }
      }
    })
  )

/**
 * The entries, with half-precision ones replaced by their place in the cache file. If it cannot be written, they are
 * unchanged, and the cost is logged. `from`: min bytes of converted weights for a file.
 */
export const cached = Effect.fn("WidenedWeights.cached")(function* (entries: Entries, from = min) {
  const halves: Entries = new Map([...entries].filter(([, { dtype }]) => dtype === "BF16" || dtype === "F16"))
  const bytes = halves.values().reduce((sum, { length }) => sum + 2 * length, 0)
  if (halves.size === 0 || bytes < from) return entries
  return yield* Effect.gen(function* () {
    const files = halves.values().map(({ file }) => file)
    const path = yield* CacheFile.path("weights", `${yield* CacheFile.nameOf(files, [...halves])}.safetensors`)
    yield* CacheFile.ensure(path, (partial) =>
      Effect.andThen(
        Effect.logInfo("widening weights to float32 (once)", { file: path, megabytes: Math.round(bytes / 1e6) }),
        write(partial, halves)
      )
    )
    return new Map([...entries, ...(yield* Safetensors.head(path)).tensors])
  }).pipe(
    Effect.catch((cause) =>
      Effect.as(
        Effect.logWarning("widened weights are not cached: every graph keeps its own copy", {
          megabytes: Math.round(bytes / 1e6),
          because: cause.message
        }),
        entries
      )
    )
  )
})
