/**
 * Renders LaTeX in markdown with KaTeX as MathML, which needs no fonts: `$…$`, `\(…\)` and a bare `\boxed{…}` inline,
 * `$$…$$`, `\[…\]` and whole `\begin{…}` environments as blocks. A dollar is literal unless adjacent to its formula:
 * `$5 and $6` stays text. Unparsable formulas are shown as source. KaTeX may not produce links, classes or pictures,
 * and expands at most a thousand macros.
 */
import { renderToString } from "katex"
import type { MarkedExtension, Tokens } from "marked"
import { escape } from "./Escape.ts"

interface Formula extends Tokens.Generic {
  readonly tex: string
  readonly isBlock: boolean
}

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
      start: (text) => text.search(/\$|\\\(|\\\[|\\boxed\{/),
      tokenizer: (text) => boxed(text) ?? formula("formula", inline.exec(text), false),
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

const box = "\\boxed{"

/** A boxed answer, with or without dollars. Words in it stay text; an empty box is one mentioned by a prompt. */
const boxed = (text: string): Formula | undefined => {
  if (!text.startsWith(box)) return undefined
  let depth = 1
  let end = box.length
  for (; end < Math.min(text.length, longest) && depth > 0; end++) {
    if (text[end] === "\\") end++
    else if (text[end] === "{") depth++
    else if (text[end] === "}") depth--
  }
  const inside = text.slice(box.length, end - 1)
  if (depth > 0 || inside.trim() === "") return undefined
  const isProse = /[a-z]{2}/i.test(inside) && !/[\\^_{}$]/.test(inside)
  return {
    type: "formula",
    raw: text.slice(0, end),
    tex: isProse ? `\\boxed{\\text{${inside.replaceAll(/[%#&]/g, "\\$&")}}}` : text.slice(0, end),
    isBlock: false
  }
}

/** Commands that would link, load or style: KaTeX would drop their content. */
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
