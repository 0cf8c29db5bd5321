/** The folder of an environment's spool, dead letters and, if the service stores none, state. */
import { Effect, FileSystem, Path } from "effect"
import * as FolderLock from "../../base/system/FolderLock.ts"

export const pathOf = (directory: string, environment: string): Effect.Effect<string, never, Path.Path> =>
  Effect.map(Path.Path, (path) => path.join(directory, environment.replaceAll(/[^\w.-]/g, "_")))

/**
 * Creates and locks the folder until the scope closes: two processes on one spool would each mistake the other's groups
 * for those of a dead process, and roll out the same items.
 */
export const hold = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  yield* fs.makeDirectory(folder, { recursive: true })
  yield* FolderLock.hold(folder)
})

export const advice =
  "stop that environment, or give this one its own wandb_name (--env.wandb_name), or its own spool (--spool) if it serves another run"
