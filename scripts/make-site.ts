/**
 * Builds the documentation site from the repository's Markdown: `npm run site` writes it into `.site/`, which any web
 * server or browser can show without a network. Exits with 1 if a link is broken.
 */
import { fileURLToPath } from "node:url"
import * as Site from "./internal/Site.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const out = `${root}.site`
const pages = Site.build(root, out)
const broken = Site.broken(out)
for (const link of broken) console.error(`leads nowhere: ${link}`)
console.log(`${pages.length} pages in .site/: open .site/index.html`)
if (broken.length > 0) process.exitCode = 1
