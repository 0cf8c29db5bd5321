/** Code of the documentation site, its syntax marked while the site is built: a reader's browser has nothing to do. */
import { createRequire } from "node:module"

/** What is used of highlight.js. Its own types bring those of browsers, which then hold for the whole project. */
interface Highlighter {
  registerLanguage(name: string, language: unknown): void
  getLanguage(name: string): unknown
  highlight(code: string, options: { readonly language: string; readonly ignoreIllegals: boolean }): { value: string }
}

const require = createRequire(import.meta.url)
const hljs: Highlighter = require("highlight.js/lib/core")
for (const name of ["bash", "json", "python", "typescript", "yaml"]) {
  hljs.registerLanguage(name, require(`highlight.js/lib/languages/${name}`))
}

export const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

/** A block of code; of a language that is not known, plain. It can be scrolled from the keyboard, too. */
export const block = (code: string, language: string): string => {
  const html =
    hljs.getLanguage(language) === undefined
      ? escaped(code)
      : hljs.highlight(code, { language, ignoreIllegals: true }).value
  return `<pre tabindex="0"><code>${html}</code></pre>\n`
}

/** Longer names may break where the page is narrow; a flag is not torn apart at its hyphens. */
const longestWhole = 28

/** Code within a line; `html` is escaped already. */
export const inline = (html: string): string =>
  html.length <= longestWhole ? `<code class="whole">${html}</code>` : `<code>${html}</code>`
