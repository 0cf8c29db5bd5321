/**
 * Weights in half precision, widened to float32 once: into a file of the cache (`base/CacheFile`, kind `weights`) that
 * every graph and process maps, instead of a private copy in each.
 *
 * The file is named by what it was made of (files, sizes, times of change, tensors): a changed model makes another one.
 * It takes 4 bytes a parameter.
 */
import { Effect } from "effect"
import * as CacheFile from "../base/CacheFile.ts"
import * as Safetensors from "./Safetensors.ts"

type Entries = ReadonlyMap<string, Safetensors.Entry>

/** Bytes of widened weights below which a private copy costs less than a file. */
const least = 64 * 2 ** 20

/** Elements widened before others have their turn. */
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
 * The entries, those in half precision replaced by their place in the cache's file. Where it cannot be written, they
 * stay as they are, and the log says what that costs. `from`: bytes of widened weights from which a file is made.
 */
export const cached = Effect.fn("WidenedWeights.cached")(function* (entries: Entries, from = least) {
  const halves: Entries = new Map([...entries].filter(([, { dtype }]) => dtype === "BF16" || dtype === "F16"))
  const bytes = halves.values().reduce((sum, { length }) => sum + 2 * length, 0)
  if (halves.size === 0 || bytes < from) return entries
  return yield* Effect.gen(function* () {
    const files = halves.values().map(({ file }) => file)
    const path = yield* CacheFile.path("weights", `${yield* CacheFile.nameOf(files, [...halves])}.safetensors`)
    yield* CacheFile.ensure(path, (partial) =>
      Effect.andThen(
        Effect.logInfo("widening weights to float32, once", { file: path, megabytes: Math.round(bytes / 1e6) }),
        write(partial, halves)
      )
    )
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
