/** Finds the file that called a function of this package, from the stack. */
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"

const own = new URL("../", import.meta.url).href

/** The file of a stack frame: the text between its bracket (or `at `) and the line and column. */
const placeOf = (line: string): string | undefined => {
  const start = line.includes("(") ? line.indexOf("(") + 1 : line.indexOf("at ") + 3
  const text = line.slice(start).replace("async ", "")
  const end = text.lastIndexOf(":", text.lastIndexOf(":") - 1)
  return /^(?:file:|\/|[A-Za-z]:[\\/])/.test(text) && end > 0 ? text.slice(0, end) : undefined
}

/** The file of a module's URL, without the query that loaders may add. */
const pathOf = (url: string): string => {
  const { hash, href, search } = new URL(url)
  return fileURLToPath(href.slice(0, href.length - search.length - hash.length))
}

/** The folder of the file; undefined if the stack does not name it. */
export const folder = (stack: string = new Error().stack ?? ""): string | undefined => {
  for (const line of stack.split("\n")) {
    const file = placeOf(line)
    if (file === undefined) continue
    const path = file.startsWith("file:") ? pathOf(file) : file
    if (!file.startsWith(own) && !path.startsWith(fileURLToPath(own))) return dirname(path)
  }
  return undefined
}
