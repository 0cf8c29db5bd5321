/** Code of the documentation site, highlighted at build time. */
import { createRequire } from "node:module"

/** The used part of highlight.js. Its own types would bring those of browsers into the whole project. */
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

/** A code block; plain if the language is unknown. It is focusable, to be scrolled from the keyboard. */
export const block = (code: string, language: string): string => {
  const html =
    hljs.getLanguage(language) === undefined
      ? escaped(code)
      : hljs.highlight(code, { language, ignoreIllegals: true }).value
  return `<div class="code"><pre tabindex="0"><code>${html}</code></pre><button type="button" class="copy" hidden>Copy</button></div>\n`
}

/** Longer names may break on narrow pages; a flag is never split at its hyphens. */
const longestWhole = 28

/** Inline code; `html` is escaped already. */
export const inline = (html: string): string =>
  html.length <= longestWhole ? `<code class="whole">${html}</code>` : `<code>${html}</code>`
