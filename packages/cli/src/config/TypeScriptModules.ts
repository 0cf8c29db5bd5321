/**
 * Lets a user's TypeScript be imported as TypeScript's own tools would: enums, namespaces and parameter properties;
 * `./lib/foo.js` that is foo.ts, `./lib/foo`, folders with an index; path aliases of tsconfig.json; types imported
 * without the word `type`; `import` in a package of type commonjs.
 *
 * Node strips types by itself and does none of these. Files of node_modules and of this project are left to Node. If the
 * process has a loader already (`NODE_OPTIONS="--import tsx"`), that loader does it all. Types are stripped in place, so
 * that lines and columns stay; only files with syntax that has to be transformed get a source map.
 */
import { existsSync, readFileSync, statSync } from "node:fs"
import * as module from "node:module"
import { dirname, extname, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import * as TsConfig from "./TsConfig.ts"

let isRegistered = false

/** From now on; once is enough. */
export const register = (): void => {
  if (isRegistered || hasLoader()) return
  isRegistered = true
  module.registerHooks({
    resolve: (specifier, context, next) => {
      const { parentURL } = context
      if (parentURL === undefined || !isUsers(parentURL)) return next(specifier, context)
      const folder = dirname(fileURLToPath(parentURL))
      const aliased = isPath(specifier) ? [] : TsConfig.aliasesIn(folder)(specifier)
      const file = firstFile(aliased)
      if (file !== undefined) return next(pathToFileURL(file).href, context)
      try {
        return next(specifier, context)
      } catch (error) {
        const found = isPath(specifier) ? firstFile([pathOf(specifier, parentURL)]) : undefined
        if (found === undefined) throw error
        return next(pathToFileURL(found).href, context)
      }
    },
    load: (url, context, next) => {
      if (!isUsers(url) || !/\.[mc]?ts$/.test(pathname(url))) return next(url, context)
      const file = fileURLToPath(url)
      const source = javaScript(readFileSync(file, "utf8"), url)
      return extname(file) !== ".cts" && isModule.test(source)
        ? { format: "module", source: withoutUnused(source), shortCircuit: true }
        : next(url, context)
    }
  })
}

/** Whether the process was started with a loader of its user's. */
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
  ".js": [".ts"],
  ".mjs": [".mts"],
  ".cjs": [".cts"]
}
const extensions = [".ts", ".mts", ".cts", ".js", ".mjs", ".cjs", ".json"]

/** The file that a path without or with another extension means. */
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

const isModule = /^\s*(?:import|export)\b/m

/** The source without its types; syntax that has a meaning beyond types is transformed. */
const javaScript = (source: string, url: string): string => {
  try {
    return module.stripTypeScriptTypes(source, { mode: "strip", sourceUrl: url })
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX")) throw error
    process.setSourceMapsEnabled(true)
    return module.stripTypeScriptTypes(source, { mode: "transform", sourceMap: true, sourceUrl: url })
  }
}

const importOf = /^[ \t]*import\s+([\w$\s{},*]+?)\s*from\s*(["'])([^"'\n]+)\2([^\n]*)$/gm

/**
 * Drops imported names that appear nowhere else: they were types. As in TypeScript, an import of which nothing is left
 * goes too, except that a file of the user's is still run.
 */
export const withoutUnused = (source: string): string => {
  const words = new Set(source.replace(importOf, "").match(/[\w$]+/g))
  const isUnused = (name: string): boolean => name !== "" && !words.has(name)
  return source.replace(importOf, (whole, clause: string, quote: string, specifier: string, tail: string) => {
    const [, outer = "", inner = ""] = /^([^{*]*)(?:\{([^}]*)\})?$/.exec(clause) ?? []
    const imported = outer.replace(",", "").trim()
    const names = inner.split(",").map((one) => one.trim())
    const used = names.filter((one) => one !== "" && !isUnused(one.split(/\s+as\s+/).at(-1)!))
    if (!isUnused(imported) && !names.some((one) => isUnused(one.split(/\s+as\s+/).at(-1)!))) return whole
    const left = [
      ...(isUnused(imported) || imported === "" ? [] : [imported]),
      ...(used.length === 0 ? [] : [`{ ${used.join(", ")} }`])
    ]
    // Lines stay where they are, for stacks.
    const lines = "\n".repeat(whole.split("\n").length - 1)
    const from = `${quote}${specifier}${quote}${tail}${lines}`
    if (left.length > 0) return `import ${left.join(", ")} from ${from}`
    return isPath(specifier) ? `import ${from}` : lines
  })
}
