/** The folder where an environment keeps its spool, its dead letters and, where the service keeps none, its state. */
import { Effect, FileSystem, Path } from "effect"
import * as FolderLock from "../../base/FolderLock.ts"

/** The folder of an environment in `directory`. */
export const pathOf = (directory: string, environment: string): Effect.Effect<string, never, Path.Path> =>
  Effect.map(Path.Path, (path) => path.join(directory, environment.replaceAll(/[^\w.-]/g, "_")))

/**
 * Makes it, and holds it until the scope closes: two processes on one spool would each take the other's groups for
 * those of a dead one, and roll the same items out.
 */
export const hold = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  yield* fs.makeDirectory(folder, { recursive: true })
  yield* FolderLock.hold(folder)
})

/** What to do where another process holds it. */
export const advice = "stop that environment, or give this one its own wandb_name (--env.wandb_name) or spool (--spool)"
