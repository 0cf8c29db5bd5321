/**
 * Creates a folder and its parents. Node's own recursion never ends if the system reports that an existing folder
 * cannot contain others (`/proc/mine`): here that fails like any other error.
 */
import { Effect, FileSystem, Path, type PlatformError } from "effect"

type Making = Effect.Effect<void, PlatformError.PlatformError, FileSystem.FileSystem | Path.Path>

/** An existing folder is not an error. */
const one = (folder: string): Making =>
  FileSystem.FileSystem.use((fs) =>
    Effect.catchIf(
      fs.makeDirectory(folder),
      ({ reason }) => reason._tag === "AlreadyExists",
      (error) =>
        Effect.flatMap(fs.stat(folder), ({ type }) => (type === "Directory" ? Effect.void : Effect.fail(error)))
    )
  )

export const make = (folder: string): Making =>
  Effect.catchIf(
    one(folder),
    ({ reason }) => reason._tag === "NotFound",
    (error) =>
      Path.Path.use(({ dirname }) => {
        const above = dirname(folder)
        return above === folder ? Effect.fail(error) : Effect.andThen(make(above), one(folder))
      })
  )
