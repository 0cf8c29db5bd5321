/**
 * Creates a folder for one rollout of a program: empty, or a copy of a folder from the settings. It is removed after
 * the rollout, and when this process is killed; or it is kept for inspection.
 */
import { Effect, FileSystem, Path, type PlatformError, type Scope } from "effect"
import { ProgramError, type ProcessSupervisor } from "./ProcessSupervisor.ts"

export interface Options {
  readonly supervisor: ProcessSupervisor
  /** A folder whose content is copied into it. */
  readonly copyOf: string | null
  /** Its parent if it is to be kept; null: among the system's temporary files, and removed. */
  readonly keptIn: string | null
}

export interface WorkingFolder {
  readonly path: string
  readonly temporary: string
  /** An empty home, in which programs keep their settings and caches. */
  readonly home: string
  /** Next to the program's working directory, so that files in it are not part of the program's work. */
  readonly reports: string
  readonly rewardFile: string
}

const failed = (cause: { readonly message: string }) =>
  new ProgramError({ message: `cannot create a working directory: ${cause.message}`, cause })

/** Writes files below a folder, by their paths in it. */
export const write = Effect.fn("WorkingFolder.write")(
  function* (folder: string, files: { readonly [path: string]: string }) {
    const fs = yield* FileSystem.FileSystem
    const { dirname, join } = yield* Path.Path
    for (const [path, text] of Object.entries(files)) {
      yield* fs.makeDirectory(dirname(join(folder, path)), { recursive: true })
      yield* fs.writeFileString(join(folder, path), text)
    }
  },
  (effect) => Effect.mapError(effect, failed)
)

export const scoped = Effect.fn("WorkingFolder.scoped")(
  function* ({
    copyOf,
    keptIn,
    supervisor
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
      yield* supervisor.folder(made)
      // A program may have made its folders unreadable, which fails no rollout.
      yield* Effect.addFinalizer(() =>
        fs
          .remove(made, { recursive: true, force: true })
          .pipe(
            Effect.catch(({ message }) =>
              Effect.logWarning("working directory not removed", { folder: made, reason: message })
            )
          )
      )
    }
    const path = join(made, "work")
    if (copyOf === null) yield* fs.makeDirectory(path)
    else yield* fs.copy(copyOf, path)
    const temporary = join(made, "tmp")
    const home = join(made, "home")
    const reports = join(made, "reports")
    yield* Effect.forEach([temporary, home, reports], (folder) => fs.makeDirectory(folder))
    return { path, temporary, home, reports, rewardFile: join(reports, "reward.json") }
  },
  (effect) => Effect.mapError(effect, (error) => (error instanceof ProgramError ? error : failed(error)))
)
