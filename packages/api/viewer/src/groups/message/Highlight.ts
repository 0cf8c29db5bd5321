/** Highlights code: returns HTML of escaped text and `<span class="hljs-…">`. Unknown languages are plain. */
import hljs from "highlight.js/lib/core"
import bash from "highlight.js/lib/languages/bash"
import cpp from "highlight.js/lib/languages/cpp"
import java from "highlight.js/lib/languages/java"
import json from "highlight.js/lib/languages/json"
import python from "highlight.js/lib/languages/python"
import sql from "highlight.js/lib/languages/sql"
import typescript from "highlight.js/lib/languages/typescript"
import xml from "highlight.js/lib/languages/xml"
import { escape } from "./Escape.ts"

for (const [name, language] of Object.entries({ bash, cpp, java, json, python, sql, typescript, xml })) {
  hljs.registerLanguage(name, language)
}
hljs.registerAliases(["js", "javascript", "jsx", "tsx", "mjs"], { languageName: "typescript" })
hljs.registerAliases(["c", "h", "rust", "go", "cuda"], { languageName: "cpp" })
hljs.registerAliases(["shell", "console", "zsh"], { languageName: "bash" })
hljs.registerAliases(["jsonl", "json5", "yaml"], { languageName: "json" })

/** Longer code is not highlighted, which would be slow. */
const longest = 50_000

export const highlight = (code: string, language: string): string =>
  code.length > longest || hljs.getLanguage(language) === undefined
    ? escape(code)
    : hljs.highlight(code, { language, ignoreIllegals: true }).value
