/** Where an installed package lies, of those that only some programs need. */
import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"

/**
 * The folder of a package as a module of that address (`import.meta.url`) finds it; undefined where it is not
 * installed.
 */
export const folder = (name: string, from: string): string | undefined =>
  createRequire(from)
    .resolve.paths(name)
    ?.map((modules) => join(modules, name))
    .find((found) => existsSync(join(found, "package.json")))
