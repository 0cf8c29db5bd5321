/** The file that called a function of this package, by the stack. */
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"

const own = new URL("../", import.meta.url).href

const frame = /(?:\(|at (?:async )?)((?:file:\/\/|\/|[A-Za-z]:[\\/]).*?):\d+:\d+\)?$/

/** The folder of the file; undefined where the stack does not say. */
export const folder = (stack: string = new Error().stack ?? ""): string | undefined => {
  for (const line of stack.split("\n")) {
    const file = frame.exec(line)?.[1]
    if (file === undefined) continue
    const path = file.startsWith("file://") ? fileURLToPath(file.replace(/[?#].*$/, "")) : file
    if (!file.startsWith(own) && !path.startsWith(fileURLToPath(own))) return dirname(path)
  }
  return undefined
}
