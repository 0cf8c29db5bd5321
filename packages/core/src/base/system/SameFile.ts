/**
 * Tells if a path still names a file that was opened by it. What is written to one that was removed, or replaced by
 * another, is lost without an error.
 */
import { Effect, FileSystem, Option, type PlatformError } from "effect"

export const isAt = Effect.fnUntraced(function* (
  file: FileSystem.File,
  path: string
): Effect.fn.Return<boolean, PlatformError.PlatformError, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  const named = yield* fs.stat(path).pipe(
    Effect.asSome,
    Effect.catchIf(
      ({ reason }) => reason._tag === "NotFound",
      () => Effect.succeedNone
    )
  )
  if (Option.isNone(named)) return false
  const opened = yield* file.stat
  const { dev, ino } = named.value
  // Not every file system numbers its files.
  if (Option.isNone(ino) || Option.isNone(opened.ino)) return true
  return ino.value === opened.ino.value && dev === opened.dev
})
