/**
 * Decides from its surroundings if a box is the answer: `-\boxed{24}`, `\boxed{24}000`, `x > \boxed{24}`, "half of
 * \boxed{24}", "maybe \boxed{24}" and "\boxed{24} or so" are not, "- \boxed{24}" at the start of a line,
 * `\boxed{24}^\circ` and "\boxed{24} more apples" are.
 *
 * In a formula, only relations of equality, text, units and layout may be adjacent to the box; in prose, no sign, digit
 * or word of arithmetic. Linear in the text read.
 */
import type { Found } from "./Formulas.ts"
import * as Tongues from "./Tongues.ts"

/** In a formula: what a value may follow, up to the last of them. */
const starts =
  /(?<![<>!≤≥])=(?!>)|=>|->|⇒|→|≈|≡|:|,|;|&|\\\\|\\(?:approx|equiv|cong|sim|simeq|in|[rR]ightarrow|Long(?:left)?rightarrow|implies|iff|to|therefore|because|q?quad|colon)(?![a-zA-Z])|\\(?:text|mathrm|mbox)[a-z]{0,4}\s?\{[^{}]*\}/g
/** Layout around a value: size, weight, colour, spacing, brackets, currency. */
const layout =
  /^(?:[\s{([~]|\\[,;!: ]|\\?[$€£]|\\begin\{[a-z*]+\}|\\(?:left|big|Big|displaystyle|textstyle|bf|boldsymbol|bm|mathbf|mathrm|underline|large|Large|LARGE|huge|Huge|normalsize|color|textcolor|ans|thinspace)(?![a-zA-Z])|\{[a-z]{2,10}\})*$/
/** Layout after a value. */
const closers = /^(?:[\s}\]~)]|\\[,;!: ]|\\(?:right|big|Big|hfill|thinspace|limits|displaystyle)(?![a-zA-Z]))*/
/** In a formula: what may follow a value. */
const follows =
  /^(?:$|\{?[.,;:]\}?(?!\d|\{)|=|≈|⇒|→|≡|&|\\\\|\\?[%$€£°]|\^\s?\{?\s?(?:\\circ|°)|\\(?:circ|degree|degrees|approx|equiv|simeq|cong|text|mathrm|mbox|hbox|textbf|textit|operatorname|quad|qquad|[rR]ightarrow|Long(?:left)?rightarrow|implies|iff|to|blacksquare|square|Box|checkmark|qed|tag|label|pmod|because|therefore|end|hspace|vspace|newline|in)(?![a-zA-Z])|[a-zA-Z]{2}|[mgshLNJWVKCF](?![a-zA-Z])|[✓✔✅🎉])/u

const operatorWords =
  /^(?:(?:lakhs?|crores?|mn|bn|squared|cubed|plus|minus|factorial|divided by|multiplied by|and (?:a|one) (?:half|third|quarter))(?![a-zA-Z])|(?:times|over|x)\s+[$\\\d])/i
/** "24 dollars and 50 cents": the box is a part of the value. */
const compound =
  /^(?:dollars?|pounds?|euros?|hours?|hrs?|minutes?|mins?|feet|foot|ft|yards?|days?|weeks?|months?|years?|kg|kilograms?|met(?:er|re)s?|km|kilomet(?:er|re)s?|degrees?|gallons?|quarts?),?\s(?:and\s)?\d[\d.]{0,9}\s(?:cents?|pence|minutes?|mins?|seconds?|secs?|inch(?:es)?|feet|hours?|days?|weeks?|months?|ounces?|grams?|cm|centimet(?:er|re)s?|met(?:er|re)s?|pints?|quarts?)(?![a-zA-Z])/i
const kilo = /^k(?![a-zA-Z])/
const remainder = /^mod(?:ulo)?(?![a-zA-Z])/i
const congruent = /≡|\\equiv|congruent/

/** "or 25", "apples or 25", "or is it 25", "or x = 25", "or so", "maybe", "to 25". */
const hedgesAfter =
  /^(?:-ish(?![a-zA-Z])|(?:[,–—-]|\.{2,3}|…)?\s*(?:\(\s*)?(?:(?:[a-zA-Z°²³/]{1,15}\s){0,2}(?:and\/)?or\s+(?:[a-zA-Z]\s?=\s?)?[-$\\\d]|or\s+(?:so|maybe|perhaps|possibly|even|more|less|else|another|some|is|was|could|might|should|would)(?![a-zA-Z])|(?:maybe|perhaps|possibly|probably|presumably|roughly|give or take|more or less|at (?:the )?(?:least|most)(?! one))(?![a-zA-Z])|to\s+[-$\\\d]))/i
const hedgesBefore =
  /(?<![a-zA-Z])(?:maybe|perhaps|possibly|probably|presumably|potentially|either(?!\s(?:case|way|one|order|method|approach|equation|expression|formula|calculation|interpretation|scenario|direction|side|route)(?![a-zA-Z])))(?![a-zA-Z])|(?<![a-zA-Z])between[\s$*:([]{1,9}$|(?<![a-zA-Z])(?:might|may|could) be[\s$*:([]{1,9}$|(?<![a-zA-Z])(?:if|suppose|imagine|assume|pretend)(?![a-zA-Z])[^.]{1,80}\swere[\s$*:([]{1,9}$|(?<![a-zA-Z])between[\s$\\]{1,5}\d[\d.,$%\s]{0,20}and[\s$*]{1,9}$|(?<![a-zA-Z])(?:might|may|could|would) (?:think|say|guess|assume|expect|believe|conclude|be tempted)(?![a-zA-Z])|^\s*(?:suppose|imagine|pretend|let['’]s say)(?![a-zA-Z])[^,]*$|[\d})$%],?\s{0,9}(?:\\text\s?\{\s{0,9})?or(?:\s{0,9}\})?(?:\s{1,9}(?:maybe|perhaps|possibly|even))?[\s$*([]{1,9}$/i

/** Directly before the box: what others answer, or an assumption. */
const ofOthers =
  /(?<![a-zA-Z])(?:(?:some|many|most|several|few)\s(?:[a-z]{3,20}\s)?(?:answer|say|think|guess|write|claim|get|believe)|if\s(?:we|i|you|one)\s(?:assume|suppose|guess))(?:\s(?:that\s)?(?:it|the\sanswer|[a-z])(?:\sis|['’]s|\s?=)?)?[\s$*:([]{1,9}$/i

/** Directly before the box: "My guess is", "I'd guess it's". */
const guessBefore =
  /(?<![a-zA-Z])guess(?:ing|es)?(?:\s(?:that|it|the answer|would|will|here|for now)){0,3}(?:['’]s|\s(?:is|was|be|equals))?[\s$*:,([—–-]{1,9}$/i

/** Directly before the box: "roughly", "about". "Approximately" marks a rounded result, like `\\approx`. */
const vague =
  /(?<![a-zA-Z])(?:roughly|about|around|nearly|almost|circa|ca\.|likely|(?:an|is) estimated(?: to be)?)[\s$*:([]{1,9}$/i
/**
 * A bound in the place of the value: "At least \boxed{24}.", "it is at most \boxed{24}"; "she needs at least
 * \boxed{24}" answers what she needs.
 */
const bound =
  /(?:at (?:the )?(?:least|most)|up to|a (?:minimum|maximum) of|(?<![a-zA-Z])(?:over|above|under|below|beyond))[\s$*:([]{1,9}$/i
const isStated = /(?<![a-zA-Z])(?:is|are|be|was|were|equals)[\s*]{1,5}$/i
const hasVerb =
  /^[\s*_`"'$)\]}.,]*(?:[a-zA-Z]{1,20}[\s,]{1,3}){0,4}(?:can|could|will|would|must|may|should|are|is|were|was|have|has|had|do|does|need|needs)(?![a-zA-Z])/i

const clauseStart = /[.!?;,\n]|(?<![a-zA-Z])(?:but|so|hence|thus|therefore|then|because|since)(?![a-zA-Z])/gi

/** "half of", "twice", "one more than". */
const computedBy =
  /(?<![a-zA-Z])(?:(?:hal(?:f|ves)|thirds?|quarters?|fourths?|fifths?|tenths?|square|cube|roots?|negative|opposite|reciprocal|inverse|factorial|double|triple|percent|logarithm)\s+of(?:\s+the(?:\s+number)?)?|%\s+of|twice|thrice|half|double|triple|minus|plus|times|than(?:\s+or\s+equal\s+to)?|divided\s+by|multiplied\s+by|except(?:\s+for)?|different\s+from|(?:close|near)\s+to|just\s+(?:under|over|below|above|short\s+of)|a\s+(?:multiple|factor|divisor|power)\s+of|divisible\s+by)\s*$/i

const operatorBefore =
  /\\(?:[bx]?cancel|sout|st|not)\s*\{\s*$|\\[dt]?frac\s?\{[^{}]{1,60}\}\s?\{\s*$|(?:[+×·⋅÷/<>≤≥±√^_]|\\(?:cdot|times|div|pm|mp|sqrt|log|ln|sin|cos|tan|geq?|leq?|[gl]t|geqslant|leqslant)(?![a-zA-Z]))[\s{([]*$|(?:\\(?:frac|sqrt|binom)|[\^_])\s*\{\s*$/
/** Attached to the box. */
const gluedBefore = /(?:\d\.?|\d[({[]|\\(?:frac|sqrt|binom)[^\n]{1,80}\}|(?<![a-zA-Z\\])[a-zA-Z])$/

const lineBefore = (text: string, start: number): string => {
  const near = text.slice(Math.max(0, start - 200), start)
  return near.slice(near.lastIndexOf("\n") + 1).replaceAll(tags, " ")
}

/** `<answer>`, `</b>`: not order signs. */
const tags = /<\/?[a-zA-Z][a-zA-Z\d]{0,20}>/g

/** A minus sign, as opposed to a bullet or a dash between words. */
const isMinus = (line: string): boolean => {
  const [, before = "", space = ""] = /^([^]*)-(\s*)$/.exec(line) ?? []
  if (!line.trimEnd().endsWith("-") || (space !== "" && before.trim() === "")) return false
  return space === ""
    ? !/[a-zA-Z]$/.test(before) || /(?<![a-zA-Z])[a-zA-Z]$/.test(before)
    : !/[a-zA-Z*:"')\].]{2}\s*$/.test(before)
}

const isComputedBefore = (line: string): boolean => {
  const bare = line.replace(/(?<![\s*_`"'$])[*_`"'$]+$/, "")
  return (
    isMinus(bare) ||
    (operatorBefore.test(bare) && !/(?:^\s*|[=-])>\s*$/.test(bare)) ||
    /[\d})]\s*(?<!\*)\*\s*$/.test(line) ||
    gluedBefore.test(line) ||
    computedBy.test(bare)
  )
}

/** "Perhaps, " hedges the clause after it. */
const hedgeComma = /(?<![a-zA-Z])(maybe|perhaps|possibly|probably|presumably|potentially)\s{0,3},/gi

const isHedgedBefore = (written: string): boolean => {
  const line = written.replaceAll(hedgeComma, "$1 ")
  if (ofOthers.test(line) || guessBefore.test(line)) return true
  const last = [...line.matchAll(clauseStart)].at(-1)
  return (
    hedgesBefore.test(line) && hedgesBefore.test(last === undefined ? line : line.slice(last.index + last[0].length))
  )
}

/** True if a bound or a vague word takes the place of the value. */
const isVague = (line: string, rest: string): boolean => {
  if (vague.test(line)) return true
  const at = line.search(bound)
  if (at === -1) return false
  const before = line.slice(0, at)
  const last = [...before.matchAll(clauseStart)].at(-1)
  const own = last === undefined ? before : before.slice(last.index + last[0].length)
  return isStated.test(before) || (!/[a-zA-Z\d]/.test(own.replace(/^[^:]*:/, "")) && !hasVerb.test(rest))
}

/** What is added, subtracted or multiplied: "+ C", "+ tax", "- y", "\\pi", "x"; "- a small number" is a remark. */
const symbolAfter =
  /^(?:\+\s*[a-zA-Z]|-\s?[b-hj-z](?![a-zA-Z'’])|\\(?:pi|theta|phi|lambda|mu|alpha|beta|gamma|omega|infty)(?![a-zA-Z])|[iknxyz](?=\s*(?:$|[-+*/=^,;])))/

const isComputedAfter = (line: string): boolean => {
  if (
    /^(?:[\d^⁰¹²³⁴-⁹⁻]|\.(?!0+(?!\d))\d|[,:]\d|\{,\}\s?\d|e\d|\\,\s*\d|[ ~]\d{3}(?![\d%]|[.:]\d)|[ ~]\d{1,3}\/\d|[a-z](?<![mgshl])(?![a-zA-Z]))/.test(
      line
    ) ||
    /^\s*\*(?!\*)\s*[\d\\$(]/.test(line)
  )
    return true
  const rest = line.replace(/^(?:[\s*_`"'$)\]}]|\\[)\];!, ])*/, "")
  if (symbolAfter.test(rest)) return true
  return /^(?:\\(?:cdot|times|div|pm|mp|bmod|geq?|leq?|[gl]t|frac|sqrt)(?![a-zA-Z])|[×·⋅÷±≤≥^]|[+/-]\s*[$\\\d(]|[<>]=?\s+[$\\a-zA-Z]|[–—‐‑‒]\d|\\?boxed)/.test(
    rest
  )
}

/** `a = \boxed{24} > 0` and `\boxed{24} < 25` state the value and a bound that it satisfies. */
const bounds = /^(?:[<>≤≥≠]|\\(?:[gl]eq?|[gl]t|neq?)(?![a-zA-Z]))/
const isToNumber = /^(?:[<>≤≥≠]|\\[a-z]{2,3})\s?-?\d/
const isEqualTo = (relation: string | undefined): boolean =>
  relation === "=" || relation === "≈" || relation === "\\approx"

/** True if the box, or list of boxes, from `start` to `end` is the answer according to its surroundings. */
export const isAnswer = (
  text: string,
  { end, start }: Pick<Found, "start" | "end">,
  formulas: ReadonlyArray<Found>
): boolean => {
  const line = lineBefore(text, start)
  const rest = /^[^\n]{0,200}/.exec(text.slice(end, end + 200))?.[0] ?? ""
  const prose = rest
    .replaceAll(/\\(?:text|mathrm|mbox)[a-z]{0,4}\s?\{([^{}]*)\}/g, " $1 ")
    .replace(/^(?:[\s*_`"'$)\]}°]|\\?%|\\[)\],;! ])*/, "")
  if (
    isHedgedBefore(Tongues.beforeValue(line)) ||
    isVague(Tongues.beforeValue(line), rest) ||
    hedgesAfter.test(Tongues.inEnglish(prose)) ||
    operatorWords.test(prose) ||
    compound.test(prose) ||
    kilo.test(prose)
  )
    return false
  const isStruckOut = /~~[\s$*]{0,9}$/.test(line) && /^[\s$*]{0,9}~~/.test(rest)
  if (isStruckOut || prose.startsWith("?") || (remainder.test(prose) && !congruent.test(line))) return false
  const around = formulas.find((one) => one.start < start && one.end >= end)
  if (around === undefined) return !isComputedBefore(line) && !isComputedAfter(rest)
  const opening = text.slice(around.start, start).replace(/^(?:\$\$?|\\[[(])/, "")
  const closing = text.slice(end, around.end).replace(/(?:\$\$?|\\[\])])$/, "")
  const from = [...opening.matchAll(starts)].at(-1)
  const before = from === undefined ? opening : opening.slice(from.index + from[0].length)
  const after = closing.replace(closers, "")
  const isClear =
    layout.test(before) &&
    (follows.test(after) || (bounds.test(after) && (isEqualTo(from?.[0]) || isToNumber.test(after))))
  // The formula may be in a separate calculation or clause.
  return isClear && (from !== undefined || !isComputedBefore(lineBefore(text, around.start)))
}
