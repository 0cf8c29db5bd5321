/**
 * Transforms a user's TypeScript file into a JavaScript module with Node's own transform: no decorators, no JSX. Lines
 * and columns are preserved for types; syntax with runtime meaning (enums, namespaces, parameter properties) gets a
 * source map. Imported names that are types are dropped.
 */
import * as StackFrames from "@atropos/core/base/StackFrames"
import * as module from "node:module"

/** A file that Node cannot run, with a hint how to run it. */
class UnsupportedSyntax extends SyntaxError {
  override readonly name = "UnsupportedSyntax"
}

/** Advice for syntax that Node does not run. */
export const loader = 'npm install --save-dev tsx, and NODE_OPTIONS="--import tsx" before the command'

/** The module, or undefined if the text has no import or export: Node then determines its type. */
export const moduleOf = (source: string, file: string, url: string): string | undefined => {
  const plain = /\.[jt]sx$/.test(file) ? withoutJsx(source, file, url) : javaScript(source, url)
  return /^[ \t]*(?:import|export)\b/m.test(plain) ? withCommonNames(withoutUnused(plain)) : undefined
}

const withoutJsx = (source: string, file: string, url: string): string => {
  try {
    return javaScript(source, url)
  } catch (cause) {
    throw new UnsupportedSyntax(`${file} has JSX, which Node does not run: ${loader}`, { cause })
  }
}

const javaScript = (source: string, url: string): string => {
  try {
    return module.stripTypeScriptTypes(source, { mode: "strip" })
  } catch (error) {
    const place = placeOfFault(source, url)
    if (place !== undefined && error instanceof Error)
      throw new UnsupportedSyntax(`${error.message} (${place})`, { cause: error })
    if (!(error instanceof Error && "code" in error && error.code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX")) throw error
    process.setSourceMapsEnabled(true)
    return module.stripTypeScriptTypes(source, { mode: "transform", sourceMap: true, sourceUrl: url })
  }
}

/** Locates a syntax error, as `agent.ts:2`; Node's own parser does not report the position. */
export const placeOfFault = (source: string, url: string): string | undefined => {
  try {
    module.stripTypeScriptTypes(source, { mode: "transform", sourceUrl: url })
    return undefined
  } catch (error) {
    const isInvalid = error instanceof Error && "code" in error && error.code === "ERR_INVALID_TYPESCRIPT_SYNTAX"
    return isInvalid ? StackFrames.place(error.stack ?? "") : undefined
  }
}

/** Strips comments that occupy whole lines. */
const code = (source: string): string => {
  let isComment = false
  return source
    .split("\n")
    .filter((line) => {
      const text = line.trimStart()
      if (isComment) {
        isComment = !text.includes("*/")
        return false
      }
      if (text.startsWith("/*")) {
        isComment = !text.includes("*/")
        return !isComment && !text.trimEnd().endsWith("*/")
      }
      return !text.startsWith("//")
    })
    .join("\n")
}

const importOf = /^[ \t]*import(\s[\w$\s{},*]{1,1000}?)from\s{0,100}(["'])([^"'\n]+)\2([^\n]*)$/gm

const localOf = (name: string): string =>
  name
    .split(/\sas\s/)
    .at(-1)!
    .trim()

/**
 * Drops imported names that appear nowhere else: they were types. As in TypeScript, an import without remaining names
 * is dropped too, except that a user's own file is still run.
 */
const withoutUnused = (source: string): string => {
  const words = new Set(code(source.replace(importOf, "")).match(/[\w$]+/g))
  const isUnused = (name: string): boolean => name !== "" && !words.has(name)
  return source.replace(importOf, (whole, clause: string, quote: string, specifier: string, tail: string) => {
    const [, outer = "", inner = ""] = /^([^{*]*)(?:\{([^}]*)\})?$/.exec(clause.trim()) ?? []
    const imported = outer.replace(",", "").trim()
    const names = inner.split(",").map((one) => one.trim())
    if (!isUnused(imported) && !names.some((one) => isUnused(localOf(one)))) return whole
    const used = names.filter((one) => one !== "" && !isUnused(localOf(one)))
    const left = [
      ...(isUnused(imported) || imported === "" ? [] : [imported]),
      ...(used.length === 0 ? [] : [`{ ${used.join(", ")} }`])
    ]
    // Keeps line numbers, for stack traces.
    const lines = "\n".repeat(whole.split("\n").length - 1)
    const from = `${quote}${specifier}${quote}${tail}${lines}`
    if (left.length > 0) return `import ${left.join(", ")} from ${from}`
    return /^\.{0,2}\//.test(specifier) ? `import ${from}` : lines
  })
}

/** CommonJS globals in terms of ES modules. */
const commonNames: { readonly [name: string]: string } = {
  require: `process.getBuiltinModule("node:module").createRequire(import.meta.url)`,
  __filename: "import.meta.filename",
  __dirname: "import.meta.dirname"
}

/** Defines those of the names that are used but not declared, on the first line, so that line numbers are kept. */
const withCommonNames = (source: string): string => {
  const imported = new Set(
    Array.from(source.matchAll(importOf)).flatMap(([, clause = ""]) => clause.match(/[\w$]+/g) ?? [])
  )
  const missing = Object.keys(commonNames).filter(
    (name) =>
      !imported.has(name) &&
      new RegExp(`(?<![\\w$.])${name}(?![\\w$])(?!\\s{0,100}:)`).test(code(source)) &&
      !new RegExp(`\\b(?:const|let|var|function)\\s{1,100}${name}\\b`).test(source)
  )
  return missing.map((name) => `const ${name} = ${commonNames[name]};`).join("") + source
}
