/**
 * Reads the path aliases (`paths`, `baseUrl`) of the nearest `tsconfig.json`, including those it extends.
 *
 * Synchronous, as module hooks are. An unreadable or invalid file (comments and trailing commas are allowed) has no
 * aliases: the import that needs one fails and names the alias.
 */
import { existsSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, isAbsolute, join, resolve } from "node:path"

/** Candidate files for an imported name, in TypeScript's order; empty if no alias matches. */
export type Aliases = (specifier: string) => ReadonlyArray<string>

interface Options {
  readonly paths?: { readonly [pattern: string]: ReadonlyArray<string> }
  /** The folder that `paths` are relative to. */
  readonly pathsFolder?: string
  readonly baseUrl?: string
}

const maxExtends = 16
const cache = new Map<string, Options>()

const optionsIn = (folder: string): Options => {
  const cached = cache.get(folder)
  if (cached !== undefined) return cached
  const file = join(folder, "tsconfig.json")
  const parent = dirname(folder)
  const options = existsSync(file) ? read(file, maxExtends) : parent === folder ? {} : optionsIn(parent)
  cache.set(folder, options)
  return options
}

export const aliasesIn = (folder: string): Aliases => aliasesOf(optionsIn(folder))

/** Returns true if the folder's `paths` match the name, which then does not refer to a package. */
export const isAlias = (folder: string, specifier: string): boolean => {
  const { paths = {} } = optionsIn(folder)
  const named = Object.fromEntries(Object.entries(paths).filter(([pattern]) => pattern !== "*"))
  return aliasesOf({ paths: named })(specifier).length > 0
}

const aliasesOf =
  ({ baseUrl, paths = {}, pathsFolder = "" }: Options): Aliases =>
  (specifier) => {
    const matches = Object.entries(paths)
      .flatMap(([pattern, targets]) => {
        const [prefix = "", suffix] = pattern.split("*")
        if (suffix === undefined) return pattern === specifier ? [{ length: Infinity, rest: "", targets }] : []
        const isMatch =
          specifier.length >= prefix.length + suffix.length &&
          specifier.startsWith(prefix) &&
          specifier.endsWith(suffix)
        const rest = specifier.slice(prefix.length, specifier.length - suffix.length)
        return isMatch ? [{ length: prefix.length, rest, targets }] : []
      })
      .toSorted((a, b) => b.length - a.length)
    const [best] = matches
    const fromPaths =
      best?.targets.map((target) =>
        resolve(
          pathsFolder,
          target.replace("*", () => best.rest)
        )
      ) ?? []
    return [...fromPaths, ...(baseUrl === undefined ? [] : [resolve(baseUrl, specifier)])]
  }

const isRecord = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const texts = (value: unknown): ReadonlyArray<string> =>
  (Array.isArray(value) ? value : [value]).filter((one) => typeof one === "string")

/** The options of a file over those it extends. */
const read = (file: string, depth: number): Options => {
  const config = parse(file)
  if (config === undefined || depth === 0) return {}
  const folder = dirname(file)
  const inherited = texts(config["extends"]).map((one) => {
    const base = locate(one, file)
    return base === undefined ? {} : read(base, depth - 1)
  })
  const options = isRecord(config["compilerOptions"]) ? config["compilerOptions"] : {}
  const { baseUrl, paths } = options
  const base = typeof baseUrl === "string" ? resolve(folder, baseUrl) : undefined
  return Object.assign(
    {},
    ...inherited,
    base !== undefined && { baseUrl: base },
    isRecord(paths) && {
      paths: Object.fromEntries(Object.entries(paths).map(([pattern, targets]) => [pattern, texts(targets)])),
      pathsFolder: base ?? folder
    }
  )
}

/** The file named by `extends`: a path, or a file in a package. */
const locate = (name: string, from: string): string | undefined => {
  const candidates = [name, `${name}.json`, `${name}/tsconfig.json`]
  if (name.startsWith(".") || isAbsolute(name)) {
    return candidates.map((one) => resolve(dirname(from), one)).find((one) => one.endsWith(".json") && existsSync(one))
  }
  const { resolve: find } = createRequire(from)
  for (const one of candidates) {
    try {
      const found = find(one)
      if (found.endsWith(".json")) return found
    } catch {
      // Another candidate may match.
    }
  }
  return undefined
}

const parse = (file: string): { readonly [key: string]: unknown } | undefined => {
  try {
    const value: unknown = JSON.parse(withoutComments(readFileSync(file, "utf8").replace(/^\uFEFF/, "")))
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

export const withoutComments = (text: string): string => {
  let json = ""
  for (let at = 0; at < text.length;) {
    const two = text.slice(at, at + 2)
    if (two === "//" || two === "/*") {
      const end = text.indexOf(two === "//" ? "\n" : "*/", at + 2)
      at = end === -1 ? text.length : two === "//" ? end : end + 2
      continue
    }
    const letter = text[at]!
    if (letter === '"') {
      let end = at + 1
      while (end < text.length && text[end] !== '"') end += text[end] === "\\" ? 2 : 1
      json += text.slice(at, end + 1)
      at = end + 1
      continue
    }
    // Drops a trailing comma once its closing bracket is reached.
    if (letter === "}" || letter === "]") {
      const before = json.trimEnd()
      if (before.endsWith(",")) json = before.slice(0, -1)
    }
    json += letter
    at++
  }
  return json
}
