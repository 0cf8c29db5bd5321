/**
 * Builds the documentation site from the repository's Markdown: `npm run site` writes it into `.site/`, which any web
 * server or browser can show without a network; `-- --url URL` adds preview images for links to it. Exits with 1 if a
 * link is broken.
 */
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import * as Site from "./internal/Site.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const out = `${root}.site`
const { url } = parseArgs({ options: { url: { type: "string" } } }).values
const pages = Site.build(root, out, url?.replace(/\/$/, ""))
const broken = Site.broken(out)
for (const link of broken) console.error(`leads nowhere: ${link}`)
console.log(`${pages.length} pages in .site/: open .site/index.html`)
if (broken.length > 0) process.exitCode = 1
