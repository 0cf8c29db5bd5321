/**
 * Lists the answer formats, one per line. Includes all of the original's (answer_format_environment.py), under its
 * names with hyphens; if two of its formats have the same text, both are kept.
 */
import type { Format, Rule } from "./Rule.ts"
import { sectioned } from "./Sections.ts"

type Named = readonly [name: string, open: string, close?: string]

const between = (all: ReadonlyArray<Named>, domain?: "math" | "code"): ReadonlyArray<Format> =>
  all.map(([name, open, close = open]) => ({
    name,
    ...(domain !== undefined && { domain }),
    rule: { kind: "between", open, close }
  }))

const tags = (all: ReadonlyArray<Named>): ReadonlyArray<Format> =>
  between(all.map(([name, tag]) => [name, `<${tag}>`, `</${tag}>`]))

const begins = (all: ReadonlyArray<Named>, domain?: "math" | "code"): ReadonlyArray<Format> =>
  all.map(([name, mark]) => ({ name, ...(domain !== undefined && { domain }), rule: { kind: "begins", mark } }))

const answerLine = (separator: string, value: "plain" | "yaml" | "quoted", key = "answer") => ({
  key,
  separator,
  value
})
const share = (separator: string) => ({ key: "confidence", separator, value: "share" }) as const

const structured: ReadonlyArray<readonly [string, Rule]> = [
  ["json", { kind: "json", shape: "object" }],
  ["json-array", { kind: "json", shape: "list" }],
  ["json-simple", { kind: "json", shape: "text" }],
  ["json-confidence", { kind: "json", shape: "object", confidence: true }],
  ["yaml", { kind: "lines", lines: [answerLine(": ", "yaml")] }],
  ["yaml-list", { kind: "lines", lines: [answerLine("- ", "yaml", "")] }],
  ["yaml-confidence", { kind: "lines", lines: [answerLine(": ", "yaml"), share(": ")] }],
  ["toml", { kind: "lines", lines: [answerLine(" = ", "quoted")] }],
  ["toml-section", { kind: "lines", lines: [{ head: "[response]" }, answerLine(" = ", "quoted")] }],
  ["toml-confidence", { kind: "lines", lines: [answerLine(" = ", "quoted"), share(" = ")] }],
  ["ini-format", { kind: "lines", lines: [{ head: "[section]" }, answerLine(" = ", "plain")] }],
  ["env-format", { kind: "lines", lines: [answerLine("=", "quoted", "ANSWER")] }],
  ["variable-assignment", { kind: "lines", lines: [answerLine(" = ", "quoted")] }],
  ["properties", { kind: "lines", lines: [answerLine("=", "plain")] }]
]

export const formats: ReadonlyArray<Format> = [
  ...structured.map(([name, rule]) => ({ name, rule })),
  ...tags([
    ["xml", "answer"],
    ["output-tags", "output"],
    ["result-tags", "result"],
    ["response-tags", "response"],
    ["final-answer-tags", "final_answer"],
    ["solution-tags", "solution"],
    ["conclusion-tags", "conclusion"],
    ["reply-tags", "reply"],
    ["html-code", "code"],
    ["html-pre", "pre"],
    ["html-span", "span"],
    ["html-div", "div"],
    ["html-p", "p"],
    ["html-strong", "strong"],
    ["html-em", "em"],
    ["html-mark", "mark"],
    ["html-heading", "h1"],
    ["html-item", "li"],
    ["html-cell", "td"]
  ]),
  ...between([
    ["xml-final-answer", "<answer>Final Answer: ", "</answer>"],
    ["xml-attribute", '<answer value="', '"/>'],
    ["latex-boxed", String.raw`\boxed{`, "}"],
    ["latex-textbf", String.raw`\textbf{`, "}"],
    ["latex-textit", String.raw`\textit{`, "}"],
    ["latex-underline", String.raw`\underline{`, "}"],
    ["latex-emph", String.raw`\emph{`, "}"],
    ["markdown-code", "```\n", "\n```"],
    ["markdown-bold", "**"],
    ["markdown-italic", "*"],
    ["markdown-bold-italic", "***"],
    ["markdown-strikethrough", "~~"],
    ["square-brackets", "[", "]"],
    ["double-square-brackets", "[[", "]]"],
    ["curly-braces", "{", "}"],
    ["double-curly-braces", "{{", "}}"],
    ["parentheses", "(", ")"],
    ["angle-brackets", "<", ">"],
    ["guillemets", "«", "»"],
    ["curly-quotes", "“", "”"],
    ["corner-brackets", "「", "」"],
    ["pipe-delimited", "|"],
    ["hash-delimited", "#"],
    ["underscore-delimited", "_"],
    ["tilde-delimited", "~"],
    ["dollar-delimited", "$$"],
    ["backtick-format", "`"],
    ["double-backtick-format", "``"],
    ["quote-format", '"'],
    ["single-quote-format", "'"],
    ["triple-quote-format", '"""'],
    ["function-call", 'answer("', '")'],
    ["return-statement", 'return "', '"'],
    ["python-print", 'print("', '")'],
    ["javascript-console", 'console.log("', '")'],
    ["c-comment", "/* ", " */"],
    ["html-comment", "<!-- ", " -->"],
    ["shell-echo", 'echo "', '"'],
    ["python-docstring", '"""'],
    ["lisp-quote", '(answer "', '")']
  ]),
  ...between(
    [
      ["latex-boxed-math", String.raw`$\boxed{`, "}$"],
      ["latex-align", "\\begin{align}\n", "\n\\end{align}"],
      ["latex-equation", "\\begin{equation}\n", "\n\\end{equation}"],
      ["latex-displaymath", String.raw`\[`, String.raw`\]`],
      ["latex-inline-math", "$"],
      ["latex-text-math", String.raw`$\text{`, "}$"],
      ["latex-mathrm", String.raw`$\mathrm{`, "}$"],
      ["latex-therefore", String.raw`$\therefore \text{`, "}$"],
      ["latex-implies", String.raw`$\implies \text{`, "}$"],
      ["latex-equiv", String.raw`$\text{answer} \equiv \text{`, "}$"],
      ["latex-matrix", String.raw`$\begin{matrix} \text{`, String.raw`} \end{matrix}$`],
      ["latex-pmatrix", String.raw`$\begin{pmatrix} \text{`, String.raw`} \end{pmatrix}$`]
    ],
    "math"
  ),
  ...begins([
    ["natural-language-answer", "The answer is:"],
    ["natural-language-final", "Final answer:"],
    ["natural-language-conclusion", "In conclusion:"],
    ["natural-language-therefore", "Therefore:"],
    ["natural-language-result", "The result is:"],
    ["natural-language-best", "The best answer is:"],
    ["natural-language-my-final", "My final answer is:"],
    ["natural-language-correct", "The correct answer is:"],
    ["natural-language-solution", "The solution is:"],
    ["natural-language-response", "My response is:"],
    ["natural-language-ultimately", "Ultimately:"],
    ["natural-language-thus", "Thus:"],
    ["natural-language-hence", "Hence:"],
    ["natural-language-consequently", "Consequently:"],
    ["natural-language-to-summarize", "To summarize:"],
    ["natural-language-in-summary", "In summary:"],
    ["natural-language-overall", "Overall:"],
    ["natural-language-final-verdict", "Final verdict:"],
    ["natural-language-bottom-line", "Bottom line:"],
    ["natural-language-key-point", "The key point is:"],
    ["natural-language-in-short", "In short:"],
    ["colon-format", "Answer:"],
    ["answer-is-format", "ANSWER IS:"],
    ["solution-is-format", "SOLUTION IS:"],
    ["result-is-format", "RESULT IS:"],
    ["output-is-format", "OUTPUT IS:"],
    ["arrow-format", "=>"],
    ["thin-arrow-format", "->"],
    ["equals-format", "="],
    ["dash-format", "-"],
    ["plus-format", "+"],
    ["star-format", "*"],
    ["percent-format", "%"],
    ["ampersand-format", "&"],
    ["at-format", "@"],
    ["exclamation-format", "!"],
    ["question-format", "?"],
    ["semicolon-format", ";"],
    ["double-colon-format", "::"],
    ["triple-dash-format", "---"],
    ["double-arrow-format", ">>"],
    ["triple-arrow-format", ">>>"],
    ["hash-answer-format", "####"],
    ["bullet-format", "•"],
    ["numbered-format", "1."],
    ["markdown-header", "##"],
    ["markdown-title", "#"],
    ["markdown-quote", ">"],
    ["markdown-task", "- [x]"],
    ["python-comment", "#"],
    ["javascript-comment", "//"],
    ["sql-comment", "--"]
  ]),
  ...begins([["shell-output", "$"]], "code"),
  { name: "textarena-format", rule: { kind: "between", open: "[", close: "]", inner: "letter" } },
  ...sectioned
]
