/** A project of somebody's own in a folder of its own, which finds the packages as one that installed them. */
import { Effect, FileSystem, Path } from "effect"
import * as Bin from "../Bin.ts"

/** Path in the project -> content. */
export type Files = { readonly [path: string]: string }

export const make = Effect.fnUntraced(function* (files: Files) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const cwd = yield* Bin.folder
  const modules = yield* path.fromFileUrl(new URL("../../../../node_modules", import.meta.url))
  yield* fs.symlink(modules, path.join(cwd, "node_modules"))
  for (const [file, content] of Object.entries(files)) {
    yield* fs.makeDirectory(path.dirname(path.join(cwd, file)), { recursive: true })
    yield* fs.writeFileString(path.join(cwd, file), content)
  }
  return cwd
})
