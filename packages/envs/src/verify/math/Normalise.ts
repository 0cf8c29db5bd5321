/**
 * Normalizes notation that LaTeX and plain text write in many ways: delimiters, spacing, sizes, fractions, relations,
 * Unicode, thousands.
 *
 * Preserves the meaning of an answer; the result is LaTeX that `Structure` parses. Invisible markup is removed: braces
 * without effect (`Groups`). A comma in braces, `{,}`, separates thousands if groups of three digits follow one to
 * three digits that do not begin with 0 (`1{,}000`), and is a decimal comma otherwise (`3{,}14` is 3.14). Limits: see
 * `isWithinLimits`.
 */
import * as Bases from "./Bases.ts"
import { ungrouped } from "./Groups.ts"
import * as Intervals from "./Intervals.ts"
import * as Scan from "../text/Scan.ts"
import * as Signs from "../text/Signs.ts"
import * as UnitText from "./UnitText.ts"

/** Max characters of an answer. */
export const maxLength = 2_000
const maxNesting = 30
const maxBars = 12
const maxDigits = 600
const maxCommands = 300

const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0

/**
 * Control characters, zero-width ones and those that turn the writing direction: what is read would not be what is
 * seen.
 */
// oxlint-disable-next-line no-control-regex
const invisible = /[\u0000-\u0007\u000e-\u001f\u200b-\u200f\u202a-\u202e\u2060-\u2064]/

/** True if an answer is small enough to be read: parsers stall beyond these caps, and no honest answer exceeds them. */
export const isWithinLimits = (text: string): boolean => {
  if (text.length > maxLength || invisible.test(text)) return false
  if (count(text, /\||\\[lr]?vert|\\mid/gi) > maxBars || count(text, /\\[a-zA-Z]/g) > maxCommands) return false
  if (new RegExp(`\\d{${maxDigits}}`).test(text)) return false
  // Towers of exponents and roots nest without brackets: count those too.
  if (count(text, /\^/g) > 60 || count(text, /!/g) > 20) return false
  let deepest = 0
  for (const depth of Scan.depths(text)) if (depth > deepest) deepest = depth
  return deepest <= maxNesting
}

const unicode: Record<string, string> = {
  "−": "-",
  "‐": "-",
  "‑": "-",
  "‒": "-",
  "–": "-",
  "—": "-",
  "―": "-",
  "﹘": "-",
  "×": "\\times ",
  "·": "\\cdot ",
  "⋅": "\\cdot ",
  "÷": "/",
  "≤": "\\leq ",
  "≥": "\\geq ",
  "≠": "\\neq ",
  "≈": "\\approx ",
  "±": "\\pm ",
  "∞": "\\infty ",
  π: "\\pi ",
  θ: "\\theta ",
  α: "\\alpha ",
  β: "\\beta ",
  λ: "\\lambda ",
  "∪": "\\cup ",
  "∩": "\\cap ",
  "∈": "\\in ",
  "∅": "\\emptyset ",
  "°": "^\\circ ",
  "，": ",",
  "；": ";",
  "：": ":",
  "（": "(",
  "）": ")",
  "％": "\\%",
  "٪": "\\%",
  "．": ".",
  "。": "."
}
const superscripts = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"
const subscripts = "₀₁₂₃₄₅₆₇₈₉₋"

/** `x²³` is `x^{23}`, `a₁` is `a_{1}`. */
const withoutRaised = (text: string): string =>
  text
    .replaceAll(
      /(?<!\d)([⁰¹²³⁴-⁹]{1,20})[⁄/]([₀-₉]{1,20})/g,
      (_, above: string, below: string) => `\\frac{${above.normalize("NFKC")}}{${below.normalize("NFKC")}}`
    )
    .replaceAll(
      /[⁰¹²³⁴-⁹⁻]+/g,
      (run) => `^{${Array.from(run, (one) => "0123456789-"[superscripts.indexOf(one)]).join("")}}`
    )
    .replaceAll(/[₀-₉₋]+/g, (run) => `_{${Array.from(run, (one) => "0123456789-"[subscripts.indexOf(one)]).join("")}}`)

/** ½, ⅔ and their like. */
const vulgar = /[¼-¾⅐-⅞]/g
const unicodePattern = new RegExp(`[${Object.keys(unicode).join("")}]`, "g")

/** Commands that models write with two backslashes by mistake; a row break before one of them would make no sense. */
const doubled =
  /\\\\(?=(?:[dtc]?frac|sqrt|leq?|geq?|neq?|lt|gt|boxed|text\w*|left|right|pi|cdot|times|cup|cap|in|infty|pm|theta|alpha|beta)(?![a-zA-Z]))/g

const spelling: ReadonlyArray<readonly [pattern: RegExp, replacement: string]> = [
  // A row break or a space at the end prints nothing.
  [/\\{1,2}\s*$/g, ""],
  [/&lt;/g, "<"],
  [/&gt;/g, ">"],
  [/\\(?:left|right|[bB]igg?[lrm]?|displaystyle|textstyle|limits|nolimits|mathstrut|strut)(?![a-zA-Z])\.?/g, ""],
  [/\\l(?:brace|Brace)(?![a-zA-Z])/g, "\\{"],
  [/\\r(?:brace|Brace)(?![a-zA-Z])/g, "\\}"],
  [/\\lbrack(?![a-zA-Z])/g, "["],
  [/\\rbrack(?![a-zA-Z])/g, "]"],
  [/\\langle(?![a-zA-Z])/g, "("],
  [/\\rangle(?![a-zA-Z])/g, ")"],
  [/\\lparen(?![a-zA-Z])/g, "("],
  [/\\rparen(?![a-zA-Z])/g, ")"],
  [/(?<!\\)\\[!,:;> ]|\\q?quad|\\(?:enspace|thinspace|medspace|thickspace)(?![a-zA-Z])|~/g, " "],
  [/\\[hv]space\*?\{[^{}]*\}/g, " "],
  [
    /\\(?:bf|rm|it|sf|tt|tiny|small|large|Large|LARGE|huge|Huge|bfseries|boldmath|scriptstyle|scriptscriptstyle)(?![a-zA-Z])/g,
    " "
  ],
  [/\\(?:textcolor|color)\s*\{(?:red|blue|green|black|orange|purple|magenta|teal|brown)\}/g, " "],
  [/\\(?:underline|boldsymbol|bm|pmb)(?=\s*\{)/g, " "],
  [/(^|[=,(]\s*)\+\s?\/?\s?-/g, "$1\\pm "],
  [/\\(?:phantom|label|tag)\{[^{}]*\}/g, " "],
  [/\\(?:[dtc]|nice|s|x)frac(?![a-zA-Z])/g, "\\frac"],
  [/\\(?:hat|widehat)\s?(?:\{\s?\\?([ijk])(?:math)?\s?\}|\\?([ijk])(?:math)?(?![a-zA-Z]))/g, " $1$2 "],
  [/\\imath(?![a-zA-Z])/g, " i "],
  [/\\cr(?![a-zA-Z])|\\\\\s{0,3}\[\s{0,3}-?[\d.]{1,6}\s{0,3}(?:pt|em|ex|[cm]m|in)\s{0,3}\]/g, "\\\\"],
  // A set without another one.
  [/(?<=\\mathbb\s?\{?\s?[A-Z]\s?\}?|[)\]])\s?-\s?(?=\\\{)/g, " \\setminus "],
  [/(?<![\\a-zA-Z])frac(?=\s*[\d{])/g, "\\frac"],
  [/\\(?:leqslant|leqq|le)(?![a-zA-Z])|<=|=</g, "\\leq "],
  [/\\(?:geqslant|geqq|ge)(?![a-zA-Z])|>=/g, "\\geq "],
  [/\\(?:ne(?![a-zA-Z])|not\s*=)|!=|<>/g, "\\neq "],
  [/\\not\s*\\in(?![a-zA-Z])/g, "\\notin "],
  [/==/g, "="],
  [/\\lt(?![a-zA-Z])/g, "<"],
  [/\\gt(?![a-zA-Z])/g, ">"],
  [/\\(?:approxeq|simeq|thickapprox)(?![a-zA-Z])/g, "\\approx "],
  [/\\colon(?![a-zA-Z])/g, ":"],
  [/\\(?:varnothing|O)(?![a-zA-Z])/g, "\\emptyset "],
  [/\\(?:dots[cbm]?|ldots|cdots)(?![a-zA-Z])|\.\.\.|…/g, "\\dots "],
  [/\\(?:degree|degrees)(?![a-zA-Z])/g, "^\\circ "],
  [/\^\s*\{\s*\\circ\s*\}/g, "^\\circ "],
  [/(?<=\d)\s?x\s?(?=10\s?\^)|(?<=\d\s)x\s(?=\\?\$?\d)/g, "\\times "],
  [/(?<=\d)\s*\^\s*(?:\{\s*)?\\text\{\s*(st|nd|rd|th)\s*\}(?:\s*\})?/g, "\\text{ $1}"],
  [/\*\*/g, "^"],
  [/(?<!\^)\*/g, "\\cdot "],
  [/\\ast(?![a-zA-Z])/g, "\\cdot "],
  [/\\div(?![a-zA-Z])/g, "/"],
  [/\\lvert|\\rvert|\\vert(?![a-zA-Z])/g, "|"],
  [/\^\s*([+-]?\d+)/g, "^{$1}"],
  [/\^\s+\(/g, "^("],
  [/(?:(?<![\\a-zA-Z])sqrt|√)\s*(\d+)/g, "\\sqrt{$1}"],
  [/(?:(?<![\\a-zA-Z])sqrt|√)(?=\s*[({])/g, "\\sqrt"],
  [/(?:(?<![\\a-zA-Z])cbrt|∛)\s*(\d+)/g, "\\sqrt[3]{$1}"],
  [/(?:(?<![\\a-zA-Z])cbrt|∛)(?=\s*[({])/g, "\\sqrt[3]"],
  [/∜\s*(\d+)/g, "\\sqrt[4]{$1}"],
  [/∜(?=\s*[({])/g, "\\sqrt[4]"],
  [/(?<![\\a-zA-Z])(?=(?:sin|cos|tan|cot|sec|csc|ln|log|exp|arcsin|arccos|arctan)(?:\s*[({^]|\s+[\dx]))/g, "\\"],
  [/\\(sin|cos|tan)\s*\^\s*\{\s*-\s*1\s*\}/g, "\\arc$1 "],
  [/(?<![\\a-zA-Z])(?=pi(?![a-zA-Z]))/g, "\\"],
  [/(?<![\\a-zA-Z])(?:infinity|infty|inf|oo)(?![a-zA-Z])/g, "\\infty "]
]

/** `\sqrt(x + 1)` is `\sqrt{x + 1}`; with `command` "^", `2^(n + 1)` is `2^{n + 1}`. */
const braced = (text: string, command: string): string => {
  let result = text
  for (let at = result.indexOf(`${command}(`); at >= 0; at = result.indexOf(`${command}(`, at + 1)) {
    const depth = Scan.depths(result)
    const open = at + command.length
    const close = depth.findIndex((level, i) => i > open && result[i] === ")" && level === depth[open])
    if (close < 0) return result
    result = `${result.slice(0, open)}{${result.slice(open + 1, close)}}${result.slice(close + 1)}`
  }
  return result
}

/** What takes an argument in parentheses. */
const bracedAfter = ["\\sqrt", "\\sqrt[3]", "\\sqrt[4]", "^"]

const texts = /\\(?:text(?:bf|it|rm|sf|tt|normal|up)?|mathrm|mathbf|mathsf|mathit|mbox|hbox|rm|operatorname\*?)\s*\{/g
const functionNames = /^(?:sin|cos|tan|cot|sec|csc|ln|log|exp|arcsin|arccos|arctan|sinh|cosh|tanh|max|min|gcd|lcm|det)$/

const formula = /[\^_+=<>*]|\d[a-zA-Z]|\\(?!mathrm)[a-z]/
const threeLetters = /(?<!\\[a-zA-Z]{0,20})[a-zA-Z]{3}/

/** All text commands become `\text{…}`; a single letter becomes that letter, a known function its command. */
const plainTexts = (text: string): string =>
  Scan.replaceCommand(text, texts, (argument, command) => {
    // Bold or slanted formulas are formulas.
    if (/^\\math(?:bf|it|sf)/.test(command) && formula.test(argument) && !threeLetters.test(argument))
      return `{${argument}}`
    const inner = argument.trim().replace(/^\(([a-zA-Z])\)$/, "$1")
    // `3\text{ h}` has a unit, `3\text{h}` may have a factor.
    if (/^\s[hmsgLlJNWVKACFT]\s*$/.test(argument)) return `\\text{${argument}}`
    if (/^[a-zA-Z]$/.test(inner)) return ` ${inner} `
    if (functionNames.test(inner)) return `\\${inner} `
    return /[a-zA-Z]/.test(inner) && !/[\\{}]/.test(inner) ? `\\text{${argument}}` : `{${argument}}`
  })

const bracedComma = /(?<![\d.,}])(\d+)((?:\s*(?:\{\s*,\s*\}|,\\!)\s*\d+)+)(?![\d{])/g

/** `1{,}000` and `1,\!000` are 1000, `3{,}14` is 3.14; others are kept, and are unreadable. */
const withoutBracedCommas = (text: string): string =>
  text.replaceAll(bracedComma, (whole, first: string, rest: string) => {
    const groups = rest.split(/(?<!\s)\s*(?:\{\s*,\s*\}|,\\!)\s*/).slice(1)
    const isThousands = /^[1-9]\d{0,2}$/.test(first) && groups.every((group) => group.length === 3)
    if (isThousands) return first + groups.join("")
    return groups.length === 1 && rest.includes("{") ? `${first}.${groups[0]}` : whole
  })

/** Removes thousands separators from numbers outside brackets (inside, a comma separates). */
const withoutThousands = (text: string): string => {
  const depth = Scan.depths(text)
  return text.replaceAll(/(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])/g, (number, at: number) => {
    const isArgument = depth[at] === 1 && /\\(?:frac|sqrt)\{$|\}\{$/.test(text.slice(0, at))
    return depth[at] === 0 || isArgument ? number.replaceAll(",", "") : number
  })
}

/** Replaces `\boxed{…}` and `\fbox{…}` by their contents. */
export const unboxed = (text: string): string => {
  let result = text
  for (let i = 0; i < 4 && /\\f?box(?:ed)?\s*\{/.test(result); i++) {
    result = Scan.replaceCommand(result, /\\(?:boxed|fbox)\s*\{/g, (argument) => ` ${argument} `)
  }
  return result
}

/** A dollar sign that does not open a formula. */
const price = /(?<=^\s{0,9}-?)\$(?=\s?[\d.][^$]*$)/
/** "negative 5", `\text{minus }5`. */
const spokenSign = /^(?:minus|negative|\\text\{\s*(?:minus|negative)\s*\})\s*(?=[\d.]|\\d?frac)/i

/** Quotes and Markdown's emphasis around a whole answer. */
const wrapped = /^\s*(\*{1,3}|__|`|"|')([^*`"'\n]{1,300})\1\s*$|^\s*[“‘]([^“”‘’\n]{1,300})[”’]\s*$/
/** Signs that point to an answer, and those that confirm it. */
const pointing =
  /^(?:\s|\$)*(?:\\(?:to|(?:long)?rightarrow|(?:Long)?[rR]ightarrow|implies|therefore)(?![a-zA-Z])|⇒|→|∴|:)\s*/
const confirmed = /(?:\\(?:checkmark|blacksquare|qed)(?![a-zA-Z])|[✓✔✅]\ufe0f?)\s{0,9}$/

const undecorated = (answer: string): string => {
  const [, , marked, quoted] = wrapped.exec(answer) ?? []
  return (marked ?? quoted ?? answer).replace(pointing, "").replace(confirmed, "")
}

export const normalise = (answer: string): string => {
  let text = UnitText.tidy(undecorated(Signs.ascii(answer.normalize("NFC"))))
    .replaceAll(doubled, "\\")
    .replace(price, "\\$$")
    .replace(spokenSign, "-")
  // A dash between digits may be a range.
  text = withoutRaised(text.replaceAll(/(?<=\d)[‐‑‒–—―﹘](?=\d)/g, "\\dash "))
  text = text.replaceAll(/(?:\d\u0305)+/g, (digits) => `\\overline{${digits.replaceAll("\u0305", "")}}`)
  text = text.replaceAll(vulgar, (one) => `\\frac{${one.normalize("NFKC").replace("⁄", "}{")}}`)
  text = text.replaceAll(unicodePattern, (character) => unicode[character] ?? character)
  text = text
    .replaceAll(/(?<!\\)\$+/g, " ")
    .replaceAll(/(?<!\\)\\[()]/g, " ")
    .replaceAll(/(?<!\\)\\[[\]]/g, " ")
  text = Bases.withBase(withoutBracedCommas(plainTexts(unboxed(text))))
  for (const [pattern, replacement] of spelling) text = text.replaceAll(pattern, replacement)
  text = ungrouped(withoutThousands(bracedAfter.reduce(braced, Intervals.withHalfOpen(text))))
    .replaceAll(/\s+/g, " ")
    .trim()
  // Punctuation of the sentence around the answer.
  return text
    .replace(/^(?:[.,:;]\s*)+(?=\D)/, "")
    .replace(/(?<![\s.,:;])(?:\s*[.,:;])+$/, "")
    .trim()
}

/** Words with optional capitalization: of three letters or more, which excludes `AB` and `xY`. */
const word = "(?:[A-Z]?[a-z]{2,}|[A-Z]{4,}|[a-z]|\\d+)"
const words = new RegExp(`^${word}(?:[\\s.,;:'-]+${word})*[\\s.,;:'-]*$`)

/** For comparing notation: no spaces except between digits, no braces around single characters, no `\text`. */
export const canonicalText = (normalised: string): string => {
  const plain = normalised.replaceAll(/\\text\{([^{}]*)\}/g, "$1")
  const bare = plain
    .replaceAll(/(?<!\\(?:arc)?(?:sin|cos|tan|cot|sec|csc|ln|log|exp)h?\s?)\{([a-zA-Z\d])\}/g, "$1")
    .replaceAll(/(?<!\d) | (?!\d)/g, "")
    .replace(/^\(([a-zA-Z])\)$/, "$1")
  if (/^\s*no\.?$/i.test(plain)) return "no"
  return /[a-zA-Z]{3}/.test(plain) && plain.length <= 200 && words.test(plain) ? bare.toLowerCase() : bare
}
