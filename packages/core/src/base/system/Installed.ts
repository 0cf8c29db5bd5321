/** Locates installed packages that only some programs need. */
import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"

/**
 * The folder of a package as resolved by the module at that URL (`import.meta.url`); undefined if it is not installed.
 */
export const folder = (name: string, from: string): string | undefined =>
  createRequire(from)
    .resolve.paths(name)
    ?.map((modules) => join(modules, name))
    .find((found) => existsSync(join(found, "package.json")))
