/** Locates the documentation: `docs/` of a checkout, or the copy in the installed package. */
import { existsSync, realpathSync } from "node:fs"
import { isAbsolute, relative } from "node:path"
import { fileURLToPath } from "node:url"

const folder = new URL(
  import.meta.url.includes("/node_modules/") ? "../../docs/" : "../../../../docs/",
  import.meta.url
)

/** The path of a page relative to the working folder: `path("training.md")`. */
export const path = (page: string): string => {
  const file = fileURLToPath(new URL(page, folder))
  // pnpm stores packages elsewhere, under long names, with a link here.
  const link = `node_modules/@atropos/core/docs/${page}`
  if (existsSync(link) && realpathSync(link) === file) return link
  const fromHere = relative(process.cwd(), file)
  return fromHere.startsWith("..") || isAbsolute(fromHere) ? file : fromHere
}
