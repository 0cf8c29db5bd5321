/**
 * One process per folder: a lock that the operating system lets go of when its holder dies, however it dies.
 *
 * The holder listens on a socket in the folder. Whoever finds the socket taken connects to it: an answer (the holder's process
 * id) means the folder is in use; no answer means the holder is gone, and its socket file is removed. Unlike a file with a
 * process id, this does not mistake a stranger that got the same id (every container's first process) for the holder.
 */
import { Effect, FileSystem, Path, Schema, type Scope } from "effect"
import { createHash } from "node:crypto"
import { connect, createServer, type Server } from "node:net"
import { tmpdir } from "node:os"

/** The folder is in use by another living process, or cannot be locked. */
export class FolderLockError extends Schema.TaggedError<FolderLockError>()("FolderLockError", {
  message: Schema.String,
  /** Whether somebody living holds it; else something is wrong with the folder. */
  isHeld: Schema.Boolean,
  /** Process that holds it, where known. */
  holder: Schema.NullOr(Schema.Int)
}) {}

// Socket paths are limited to 107 bytes on Linux and 103 on macOS.
const longestPath = 100

const listen = (path: string): Effect.Effect<Server, NodeJS.ErrnoException> =>
  Effect.callback((resume) => {
    const server = createServer((socket) => socket.on("error", () => socket.destroy()).end(String(process.pid)))
    server.once("error", (error: NodeJS.ErrnoException) => resume(Effect.fail(error)))
    server.listen(path, () => {
      // The lock alone must not keep a process running.
      server.unref()
      resume(Effect.succeed(server))
    })
  })

/** Process id of the living holder; null where nobody answers. */
const askHolder = (path: string): Effect.Effect<number | null> =>
  Effect.callback<number | null>((resume) => {
    const socket = connect(path)
    let text = ""
    socket.on("data", (bytes) => (text += bytes.toString()))
    socket.once("error", () => resume(Effect.succeed(null)))
    socket.once("end", () => resume(Effect.succeed(Number(text) || 0)))
    return Effect.sync(() => socket.destroy())
  }).pipe(Effect.timeoutOrElse({ duration: "2 seconds", orElse: () => Effect.succeed(0) }))

/** Holds `folder` until the scope closes; fails where another process holds it. */
export const hold = Effect.fn("FolderLock.hold")(function* (
  folder: string
): Effect.fn.Return<void, FolderLockError, FileSystem.FileSystem | Path.Path | Scope.Scope> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const inFolder = path.join(path.resolve(folder), "lock.sock")
  const socketPath =
    inFolder.length <= longestPath
      ? inFolder
      : path.join(tmpdir(), `atropos-${createHash("sha256").update(inFolder).digest("hex").slice(0, 32)}.sock`)
  const cannot = (cause: { readonly message: string }) =>
    new FolderLockError({ message: `cannot lock the folder ${folder}: ${cause.message}`, isHeld: false, holder: null })

  const acquire = listen(socketPath).pipe(
    Effect.catchIf(
      (error) => error.code === "EADDRINUSE",
      () =>
        Effect.gen(function* () {
          const holder = yield* askHolder(socketPath)
          if (holder !== null) {
            return yield* new FolderLockError({
              message: `the folder ${folder} is in use by a running process${holder > 0 ? ` (id ${holder})` : ""}`,
              isHeld: true,
              holder: holder > 0 ? holder : null
            })
          }
          yield* fs.remove(socketPath, { force: true })
          return yield* listen(socketPath)
        })
    ),
    Effect.mapError((error) => (error instanceof FolderLockError ? error : cannot(error)))
  )
  yield* Effect.acquireRelease(acquire, (server) =>
    Effect.callback<void>((resume) => {
      server.close(() => resume(Effect.void))
    })
  )
})
