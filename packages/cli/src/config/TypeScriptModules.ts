/**
 * Lets user TypeScript be imported as TypeScript's own tools would: `./lib/foo.js` that is foo.ts, `./lib/foo`, folders
 * with an index, path aliases of tsconfig.json, JSON, `import` in a package of type commonjs, and the transforms of
 * `TypeScriptSource`; Node itself only strips types.
 *
 * Files in node_modules and in this project are left to Node, and everything to an existing loader
 * (`NODE_OPTIONS="--import tsx"`).
 */
import { existsSync, readFileSync, statSync } from "node:fs"
import * as module from "node:module"
import { dirname, extname, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import * as TsConfig from "./TsConfig.ts"
import * as TypeScriptSource from "./TypeScriptSource.ts"

let isRegistered = false

/** Takes effect from now on; repeated calls do nothing. */
export const register = (): void => {
  if (isRegistered || hasLoader()) return
  isRegistered = true
  module.registerHooks({
    resolve: (specifier, context, next) => {
      const { parentURL } = context
      if (parentURL === undefined || !isUsers(parentURL)) return next(specifier, context)
      const folder = dirname(fileURLToPath(pathname(parentURL)))
      const aliased = isPath(specifier) ? [] : TsConfig.aliasesIn(folder)(specifier)
      const file = firstFile(aliased)
      if (file !== undefined) return next(pathToFileURL(file).href, context)
      try {
        return next(specifier, context)
      } catch (error) {
        const found = isPath(specifier) ? firstFile([pathOf(specifier, parentURL)]) : undefined
        if (found !== undefined) return next(pathToFileURL(found).href, context)
        throw TsConfig.isAlias(folder, specifier) ? new AliasError(specifier, parentURL, aliased) : error
      }
    },
    load: (url, context, next) => {
      if (!isUsers(url)) return next(url, context)
      const file = fileURLToPath(pathname(url))
      loaded.add(file)
      // JSON loaded by `require` is parsed by Node.
      const isImported = !context.conditions.includes("require") && context.importAttributes["type"] === undefined
      if (extname(file) === ".json" && isImported) {
        return { format: "module", source: textOf(file), shortCircuit: true }
      }
      const source = /\.(?:m?ts|[jt]sx)$/.test(file) ? TypeScriptSource.moduleOf(textOf(file), file, url) : undefined
      return source === undefined ? next(url, context) : { format: "module", source, shortCircuit: true }
    }
  })
}

const textOf = (file: string): string => {
  const text = readFileSync(file, "utf8")
  return extname(file) === ".json" ? `export default ${text}` : text
}

const loaded = new Set<string>()

/** Locates the syntax error in the loaded user files that cannot be parsed. */
export const placeOfFault = (): string | undefined => {
  // Files may have been deleted.
  for (const file of [...loaded].filter((one) => existsSync(one))) {
    const place = TypeScriptSource.placeOfFault(textOf(file), pathToFileURL(file).href)
    if (place !== undefined) return place
  }
  return undefined
}

/** A path alias that resolves to no file: Node would take it for a package. */
class AliasError extends Error {
  override readonly name = "AliasError"
  constructor(specifier: string, importer: string, paths: ReadonlyArray<string>) {
    super(
      `${specifier}, an alias of tsconfig.json that ${fileURLToPath(pathname(importer))} imports, was not found: tried ${paths.join(" and ")}`
    )
  }
}

/** Returns true if the process was started with a custom loader. */
const hasLoader = (): boolean =>
  [...process.execArgv, ...(process.env["NODE_OPTIONS"] ?? "").split(" ")].some((word) =>
    /^--(import|loader|experimental-loader)(=|$)/.test(word)
  )

const packages = new URL("../../../", import.meta.url).href

const pathname = (url: string): string => url.split(/[?#]/, 1)[0]!

const isUsers = (url: string): boolean =>
  url.startsWith("file:") &&
  !url.includes("/node_modules/") &&
  !(url.startsWith(packages) && /^[^/]+\/src\//.test(url.slice(packages.length)))

const isPath = (specifier: string): boolean => /^(\.{0,2}\/|file:)/.test(specifier)

const pathOf = (specifier: string, parentURL: string): string =>
  fileURLToPath(pathname(new URL(specifier, parentURL).href))

const isFile = (path: string): boolean => existsSync(path) && statSync(path).isFile()

const typed: { readonly [extension: string]: ReadonlyArray<string> } = {
  ".js": [".ts", ".tsx"],
  ".mjs": [".mts"],
  ".cjs": [".cts"]
}
const extensions = [".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".json"]

/** The first existing file for a path without or with another extension. */
const firstFile = (paths: ReadonlyArray<string>): string | undefined => {
  for (const path of paths) {
    const extension = extname(path)
    const candidates = [
      path,
      ...(typed[extension] ?? []).map((one) => path.slice(0, -extension.length) + one),
      ...extensions.map((one) => path + one),
      ...extensions.map((one) => join(path, `index${one}`))
    ]
    const found = candidates.find(isFile)
    if (found !== undefined) return found
  }
  return undefined
}
