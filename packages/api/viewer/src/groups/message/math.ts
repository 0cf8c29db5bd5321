/**
 * LaTeX in markdown: `$…$`, `\(…\)` in a line, `$$…$$`, `\[…\]` and whole `\begin{…}` environments as blocks, drawn by KaTeX as MathML, which browsers
 * show without fonts of ours.
 *
 * A dollar is money unless it hugs its formula: `$5 and $6` stays text. What KaTeX cannot read is shown as it was written. KaTeX
 * is not trusted with links, classes or pictures, and expands at most a thousand macros.
 */
import { renderToString } from "katex"
import type { MarkedExtension, Tokens } from "marked"
import { escape } from "./escape.ts"

interface Formula extends Tokens.Generic {
  readonly tex: string
  readonly isBlock: boolean
}

/** Longer ones are shown as text: no formula of a person or a model is that long. */
const longest = 4000

const inline =
  /^(?:\$\$(?!\$)([^$]+?)\$\$|\$(?![\s$])((?:\\[^\n]|[^$\\\n])+?)(?<!\s)\$(?![\d$])|\\\(([^\n]+?)\\\)|\\\[([\s\S]+?)\\\])/
const block =
  /^ {0,3}(?:\$\$([^$]+?)\$\$|\\\[([\s\S]+?)\\\]|(\\begin\{(equation|align|aligned|gather|cases|array|[bpvV]?matrix)\*?\}[\s\S]+?\\end\{\4\*?\}))[ \t]*(?:\n|$)/

export const math: MarkedExtension = {
  extensions: [
    {
      name: "formulaBlock",
      level: "block",
      start: (text) => text.search(/^ {0,3}(?:\$\$|\\\[|\\begin\{)/m),
      tokenizer: (text) => formula("formulaBlock", block.exec(text), true),
      renderer: (token) => render(token as Formula)
    },
    {
      name: "formula",
      level: "inline",
      start: (text) => text.search(/\$|\\\(|\\\[/),
      tokenizer: (text) => formula("formula", inline.exec(text), false),
      renderer: (token) => render(token as Formula)
    }
  ]
}

const formula = (type: string, match: RegExpExecArray | null, isBlock: boolean): Formula | undefined => {
  if (match === null) return undefined
  const [raw, ...groups] = match
  const tex = groups.find((group) => group !== undefined)
  const isDisplay = isBlock || raw.startsWith("$$") || raw.startsWith("\\[")
  return tex === undefined ? undefined : { type, raw, tex, isBlock: isDisplay }
}

/** Commands that would link, load or style: KaTeX would leave out what they hold. */
const untrusted = /\\(?:href|url|includegraphics|html[A-Z][a-z]+)/

const render = ({ isBlock, raw, tex }: Formula): string => {
  if (tex.length > longest || untrusted.test(tex)) return `<code>${escape(raw)}</code>`
  try {
    const html = renderToString(tex, {
      displayMode: isBlock,
      output: "mathml",
      throwOnError: true,
      strict: "ignore",
      trust: false,
      maxExpand: 1000,
      maxSize: 20
    })
    return isBlock ? `<div class="formula">${html}</div>` : html
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : "not LaTeX"
    return `<code class="formula-wrong" title="${escape(reason.slice(0, 200))}">${escape(raw)}</code>`
  }
}
