/** Code of the documentation site with its syntax marked while the site is built, so that a reader's browser has nothing to do. */
import hljs from "highlight.js/lib/core"
import bash from "highlight.js/lib/languages/bash"
import json from "highlight.js/lib/languages/json"
import python from "highlight.js/lib/languages/python"
import typescript from "highlight.js/lib/languages/typescript"
import yaml from "highlight.js/lib/languages/yaml"

for (const [name, language] of Object.entries({ bash, json, python, typescript, yaml })) {
  hljs.registerLanguage(name, language)
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
