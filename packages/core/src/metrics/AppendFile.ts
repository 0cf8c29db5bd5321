/**
 * Appends whole records to a file: a partial write is truncated, so that a retry leaves neither partial nor duplicate
 * records.
 */
import { Effect, FileSystem, Path, type PlatformError, Scope } from "effect"
import * as SameFile from "../base/system/SameFile.ts"

export interface AppendFile {
  /** Size in bytes. */
  readonly size: () => number
  readonly append: (bytes: Uint8Array) => Effect.Effect<void, PlatformError.PlatformError>
}

const newline = 0x0a

/**
 * Opens a file, creating its folders; `lines`: ends a last line that a crash truncated, so that the next one starts on
 * its own line, and begins a new file if this one was removed or replaced.
 */
export const open = Effect.fnUntraced(function* (
  file: string,
  { lines = false }: { readonly lines?: boolean } = {}
): Effect.fn.Return<AppendFile, PlatformError.PlatformError, FileSystem.FileSystem | Path.Path | Scope.Scope> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const scope = yield* Effect.scope
  const openFile = Effect.andThen(
    fs.makeDirectory(path.dirname(file), { recursive: true }),
    Scope.provide(fs.open(file, { flag: "a+" }), scope)
  )
  let opened = yield* openFile
  let size = Number((yield* opened.stat).size)
  let isTorn = false

  const reopen = Effect.gen(function* () {
    opened = yield* openFile
    size = Number((yield* opened.stat).size)
    isTorn = false
  })

  const append = Effect.fnUntraced(function* (bytes: Uint8Array) {
    if (lines && !(yield* Effect.provideService(SameFile.isAt(opened, file), FileSystem.FileSystem, fs))) yield* reopen
    if (isTorn) yield* opened.truncate(size)
    isTorn = true
    yield* opened.writeAll(bytes)
    isTorn = false
    size += bytes.length
  }, Effect.uninterruptible)

  if (lines && size > 0) {
    yield* opened.seek(BigInt(size - 1), "start")
    const last = new Uint8Array(1)
    yield* opened.read(last)
    if (last[0] !== newline) yield* append(Uint8Array.of(newline))
  }
  return { size: () => size, append }
})
