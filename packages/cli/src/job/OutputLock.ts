/**
 * Ensures that one process at a time writes an output: a file and its companions of the same name.
 *
 * The lock is in the system's temporary folder, in a folder only this user can write to, since another user's files
 * could redirect a write. A file has one lock regardless of symlinks. It is released with the scope, and by the system
 * if its holder dies.
 */
import { FolderLock } from "@atropos/core"
import { Effect, FileSystem, Option, Path } from "effect"
import { createHash } from "node:crypto"
import { tmpdir } from "node:os"
import { CommandFailed } from "../base/Failure.ts"

const cannot = (what: string, place: string) => (cause: { readonly message: string }) =>
  new CommandFailed({ message: `cannot ${what} ${place}: ${cause.message}`, cause })

/** The folder of this user's locks. Fails if another user owns it or can write to it. */
const locks = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const user = process.getuid?.()
  const folder = path.join(tmpdir(), user === undefined ? "atropos-locks" : `atropos-locks-${user}`)
  yield* fs.makeDirectory(folder, { recursive: true, mode: 0o700 }).pipe(Effect.mapError(cannot("make", folder)))
  // On Windows the temporary folder belongs to the user.
  if (user === undefined) return folder
  const look = cannot("access", folder)
  const [above, real, { mode, uid }] = yield* Effect.all([
    fs.realPath(tmpdir()),
    fs.realPath(folder),
    fs.stat(folder)
  ]).pipe(Effect.mapError(look))
  if (real === path.join(above, path.basename(folder)) && Option.contains(uid, user) && (mode & 0o077) === 0)
    return folder
  return yield* new CommandFailed({
    message: `${folder} is accessible to other users, so it cannot hold a lock: remove it, or set TMPDIR to a private folder`
  })
})

/** Locks `file`, creating its folder if missing; fails with the holder's process id if it is already locked. */
export const hold = Effect.fn("OutputLock.hold")(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const parent = path.dirname(path.resolve(file))
  yield* fs.makeDirectory(parent, { recursive: true }).pipe(Effect.mapError(cannot("make the folder of", file)))
  const real = path.join(
    yield* fs.realPath(parent).pipe(Effect.mapError(cannot("access", parent))),
    path.basename(file)
  )
  const name = createHash("sha256").update(real).digest("hex").slice(0, 16)
  const folder = path.join(yield* locks, name)
  yield* fs.makeDirectory(folder, { recursive: true }).pipe(Effect.mapError(cannot("make", folder)))
  yield* FolderLock.hold(folder).pipe(
    Effect.mapError(
      ({ holder, isHeld, message }) =>
        new CommandFailed({
          message: isHeld
            ? `${file} is being written by another process${holder === null ? "" : ` (id ${holder})`}: wait for it, stop it, or use another path`
            : message
        })
    )
  )
})
