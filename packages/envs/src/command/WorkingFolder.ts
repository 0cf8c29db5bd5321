/**
 * A fresh folder for one rollout of a program: empty, or a copy of a folder that the settings name. It goes when the
 * rollout is over, and when this process is killed; or it is kept, to be looked at.
 */
import { Effect, FileSystem, Path, type PlatformError, type Scope } from "effect"
import { ProgramError, type Warden } from "./Warden.ts"

export interface Options {
  readonly warden: Warden
  /** A folder whose content it begins with. */
  readonly copyOf: string | null
  /** Where it is made and stays; null: among the system's temporary files, and removed. */
  readonly keptIn: string | null
}

export interface WorkingFolder {
  readonly path: string
  /** For temporary files. */
  readonly temporary: string
  /** Beside the folder that the program works in: what it writes there is no part of its work. */
  readonly reports: string
  readonly rewardFile: string
}

const failed = (cause: { readonly message: string }) =>
  new ProgramError({ message: `a working folder cannot be made: ${cause.message}`, cause })

export const scoped = Effect.fn("WorkingFolder.scoped")(
  function* ({
    copyOf,
    keptIn,
    warden
  }: Options): Effect.fn.Return<
    WorkingFolder,
    ProgramError | PlatformError.PlatformError,
    FileSystem.FileSystem | Path.Path | Scope.Scope
  > {
    const fs = yield* FileSystem.FileSystem
    const { join, resolve } = yield* Path.Path
    const prefix = "atropos-program-"
    if (keptIn !== null) yield* fs.makeDirectory(keptIn, { recursive: true })
    const made = resolve(yield* fs.makeTempDirectory({ prefix, ...(keptIn !== null && { directory: keptIn }) }))
    if (keptIn === null) {
      yield* warden.folder(made)
      // A program may have taken away the right to look into its folders: that fails no rollout.
      yield* Effect.addFinalizer(() =>
        fs
          .remove(made, { recursive: true, force: true })
          .pipe(
            Effect.catch(({ message }) =>
              Effect.logWarning("a working folder stays", { folder: made, reason: message })
            )
          )
      )
    }
    const path = join(made, "work")
    if (copyOf === null) yield* fs.makeDirectory(path)
    else yield* fs.copy(copyOf, path)
    const temporary = join(made, "tmp")
    const reports = join(made, "reports")
    yield* Effect.forEach([temporary, reports], (folder) => fs.makeDirectory(folder))
    return { path, temporary, reports, rewardFile: join(reports, "reward.json") }
  },
  (effect) => Effect.mapError(effect, (error) => (error instanceof ProgramError ? error : failed(error)))
)
