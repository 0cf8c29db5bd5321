/**
 * Judges mathematical answers: finds them in completions and decides if they are equivalent to a reference.
 *
 * The decision is exact if arithmetic is exact, and otherwise made at many points to 87 digits; anything undecided is
 * not equal, so that no answer is rewarded because a checker failed. Plain numbers, and sets, intervals and the like of
 * plain numbers, are decided here immediately (`decide`); other leaves need compute-engine (`Latex.load`), which
 * `MathVerifier` runs in a worker. Reference for the cases: Math-Verify, https://github.com/huggingface/Math-Verify.
 */
import * as Choices from "./Choices.ts"
import * as Compare from "./Compare.ts"
import * as Compounds from "./Compounds.ts"
import * as Counters from "./Counters.ts"
import * as Dates from "./Dates.ts"
import type { Reader } from "./Latex.ts"
import * as Integers from "./Integers.ts"
import * as Money from "./Money.ts"
import { canonicalText, isWithinLimits, normalise } from "./Normalise.ts"
import * as Numerals from "../text/Numerals.ts"
import * as Parts from "../text/Parts.ts"
import * as Ordinals from "./Ordinals.ts"
import * as Parameters from "./Parameters.ts"
import * as Plain from "./Plain.ts"
import * as Residues from "./Residues.ts"
import * as BoxedSentence from "../text/BoxedSentence.ts"
import * as Magnitudes from "../text/Magnitudes.ts"
import * as Spelled from "../text/Spelled.ts"
import { parse } from "./Structure.ts"

/** Parses chemical formulas in LaTeX, mhchem and plain text. */
const elements =
  "A[cglmrstu]|B[aehikr]?|C[adeflmnorsu]?|D[bsy]|E[rsu]|F[elmr]?|G[ade]|H[efgos]?|I[nr]?|Kr?|L[airuv]|M[cdgnot]|N[abdehiop]?|Os?|" +
  "P[abdmortu]?|R[abefghnu]|S[bcegimnr]?|T[abcehilms]|U|V|W|Xe|Yb?|Z[nr]"
const formula = new RegExp(`^(?:(?:${elements})|\\d|[()[\\]])+$`)
const wrappers = /\\(?:ce|text|mathrm|rm|mbox|mathsf|boxed|fbox)(?![a-zA-Z])|[\s${}_]/g
const subscripts = "₀₁₂₃₄₅₆₇₈₉"
const maxLength = 200

/** `H2SO4` for `H_2SO_4`, `\ce{H2SO4}` and H₂SO₄, with its charge after `^`; undefined for anything else. */
const canonicalFormula = (text: string): string | undefined => {
  if (text.length > maxLength || !/[A-Z]/.test(text)) return undefined
  const bare = text
    .replaceAll(/[₀-₉]/g, (digit) => String(subscripts.indexOf(digit)))
    .replaceAll(wrappers, "")
    .replace(/\.$/, "")
  const [, body = "", charge, sign] = /^([^^+-]*)(?:\^(\d*[+-])|([+-]))?$/.exec(bare) ?? []
  if (!formula.test(body) || !/[A-Z]/.test(body)) return undefined
  return `${body}^${charge ?? sign ?? ""}`
}

export {
  accuracyOptions,
  boxedOptions,
  extract,
  extractReference,
  isUnreadable,
  type Options as ExtractOptions
} from "../text/Extract.ts"
export type { Rules } from "./Compare.ts"

/** Max characters of answers processed in the calling thread: well under a millisecond. */
const maxAtOnce = 300

/** One numeral with what may be around it: a name, a sign, a currency, a unit. */
const oneNumeral = new RegExp(
  `^((?:(?!\\\\\\{)[^\\d.([,]|\\.\\s)*)(${Numerals.pattern})((?:\\\\,|\\{,\\}|[^\\d,])*(?:\\^\\{?[23]\\}?\\s?\\}?)?)$`
)
/** A number with a decimal point, or a fraction. */
const fractional = /^[^,\d]*\d*\.\d|^[^,\d]*\d[^,]*\/\s?\d|^[^,\d]*\d?\s?\\[dt]?frac/
/** In a reference, `1,2` is more likely a list; with a unit it is not. */
const referenceComma = /^(?:0,\d{2,}|\d+,\d{2})$/
const predictionComma = /^(?:\d+,\d{1,2}|0,\d+)$/

/**
 * An answer in which the separators of a numeral are written as in English, if the other answer is one number too:
 * `1,00,000` and `1'000` lose their separators, and `12,5` is a decimal if the other number is no integer.
 */
const inEnglish = (answer: string, other: string, comma: RegExp): string => {
  const [, before = "", numeral = "", after = ""] =
    answer.length > maxAtOnce || !/\d[.,'’_ ]\d/.test(answer) ? [] : (oneNumeral.exec(answer.trim()) ?? [])
  if (numeral === "") return answer
  const isDecimal =
    fractional.test(other) && (comma.test(numeral) || (/^\d+,\d{1,2}$/.test(numeral) && /[^\s.]/.test(after)))
  const plain = isDecimal ? numeral.replace(",", ".") : Numerals.plain(numeral)
  const isOne =
    plain !== undefined &&
    (!other.includes(",") || Numerals.plain(oneNumeral.exec(other.trim())?.[2] ?? "") !== undefined)
  return isOne ? before + plain + after : answer
}

const letterUnit =
  /^([^a-zA-Z\\]*\d)(?:\s|~|\\[,;: ]){1,5}(?:\\(?:mathrm|text|rm)\s?\{\s{0,3})?([mgshLlNJWV])\s{0,3}\}?$/
/** A number with a unit in words or in `\\text`. */
const wordUnit = /^[^a-zA-Z\\]*\d(?:[\s~]|\\[,;: ]){0,5}(?:\\(?:mathrm|text|rm)\s?\{)?\s{0,3}[a-zA-Z]{2,20}[^\d]{0,40}$/

/** `5 m` has a unit if the other answer has no letters, or a unit too; next to `5x` it may be a product. */
const withUnit = (answer: string, other: string): string => {
  const [, numeral, letter] = answer.length > maxAtOnce ? [] : (letterUnit.exec(answer.trim()) ?? [])
  const isConstant = !/[a-zA-Z]/.test(other.replaceAll(/\\[a-zA-Z]+/g, ""))
  return letter !== undefined && (isConstant || wordUnit.test(other.trim()) || letterUnit.test(other.trim()))
    ? `${numeral}\\text{ ${letter}}`
    : answer
}

const startsWithNumber = /^[\s$]{0,9}-?(?:\\?[$€£]\s?)?(?:[\d.]|\\[dt]?frac)/

/** "A Monday", "the Pacific Ocean": words alone, as opposed to the factor in "a sin x". */
const article =
  /^[\s*]{0,3}(?:\\text\s?\{\s?)?(?:an?|the)\s(?!(?:sin|cos|tan|sec|csc|cot|ln|log|exp|sqrt|arc)[a-z]{0,5}\s)(?=[a-zA-Z\s'-]{0,60}[a-zA-Z]{4})([a-zA-Z][a-zA-Z\s'-]{3,60})\}?[\s.*]{0,3}$/i
const withoutArticle = (answer: string): string =>
  answer.length > 100 ? answer : (article.exec(answer)?.[1] ?? answer)

/** "2 and 1/3" is a mixed number where one number is asked for. */
const spokenMixed =
  /^([\s$]{0,3}-?\d{1,20})\s{0,3}(?:and|\\text\s?\{\s{0,3}and\s{0,3}\})\s{0,3}(?=\d{1,9}\/\d|\\[dt]?frac)/
const isList = /[,;]|(?<![a-zA-Z])(?:and|or)(?![a-zA-Z])/
const withMixed = (answer: string, other: string): string =>
  isList.test(other) ? answer : answer.replace(spokenMixed, "$1 ")

const integrated = /\+\s?([cCkK])\s?$/
/** `e^x + c` with the constant of the reference, `C`, if the answer has no other c. */
const withConstant = (answer: string, gold: string): string => {
  const [own, other] = [integrated.exec(gold)?.[1], integrated.exec(answer)?.[1]]
  const rest = answer.slice(0, -1).replaceAll(/\\[a-zA-Z]+/g, "")
  const isConstant = own === "C" && other !== undefined && !rest.includes(other) && !rest.includes(own)
  return isConstant ? answer.replace(integrated, `+ ${own}`) : answer
}

/** An answer without its explanations, article and ending, with an amount as a number. */
const plain = (answer: string): string =>
  Money.plain(Ordinals.withoutEnding(withoutArticle(Spelled.withoutExplanation(Magnitudes.inEnglish(answer)))))

const ratio = /^[\s$]{0,3}\d{1,20}\s?:\s?\d{1,20}[\s$]{0,3}$/
const spokenRatio =
  /^([\s$]{0,3}\d{1,20})\s{0,3}(?:\\text\s?\{\s{0,3}to\s{0,3}\}|to(?![a-zA-Z]))\s{0,3}(?=\d{1,20}[\s$]{0,3}$)/
/** "3 to 2" as `3:2`, if that is what the reference is. */
const asRatio = (answer: string, gold: string): string =>
  ratio.test(gold) ? answer.replace(spokenRatio, "$1:") : answer

const withHyphens = (text: string): string => text.replaceAll("\\dash", "-")

/**
 * True if the prediction equals the reference, with leaves read by `read`. Both are answers as returned by `extract`:
 * LaTeX or plain text, with or without delimiters. Answers beyond the limits equal nothing.
 */
export const equivalent = (
  goldAnswer: string,
  predictedAnswer: string,
  read: Reader,
  rules: Partial<Compare.Rules> = {}
): boolean => {
  const [own, other] = [plain(goldAnswer), asRatio(plain(predictedAnswer), goldAnswer)]
  const [gold, prediction] = Parameters.without(Counters.without(own, other), Counters.without(other, own))
  const isSameInteger = Integers.areEqual(gold, prediction)
  if (isSameInteger !== undefined) return isSameInteger
  const values =
    Parts.without(gold, prediction) ?? Residues.without(gold, prediction) ?? Choices.without(gold, prediction)
  if (values !== undefined) return equivalent(...values, read, rules)
  const stated = startsWithNumber.test(gold) ? BoxedSentence.valueIn(prediction) : undefined
  if (stated !== undefined) return equivalent(gold, stated, read, rules)
  if (!isWithinLimits(gold) || !isWithinLimits(prediction)) return false
  const [a, b] = [
    normalise(withUnit(inEnglish(gold, prediction, referenceComma), prediction)),
    normalise(withConstant(withMixed(withUnit(inEnglish(prediction, gold, predictionComma), gold), gold), gold.trim()))
  ]
  const written = canonicalText(a)
  if (written === "" || b === "") return false
  if (written === canonicalText(b)) return true
  // The reference may have a hyphen in a range.
  if (withHyphens(written) === withHyphens(canonicalText(b))) return true
  const formula = canonicalFormula(gold)
  if (formula !== undefined && formula === canonicalFormula(prediction)) return true
  const isSameQuantity = Compounds.areEqual(gold, prediction)
  if (isSameQuantity !== undefined) return isSameQuantity
  const date = Dates.read(gold)
  if (date !== undefined && date === Dates.read(prediction)) return true
  return Compare.compare(parse(a, read), parse(b, read), { ...Compare.defaultRules, ...rules })
}

/** The verdict if it needs no engine; undefined if it does, or if it would take long. */
export const decide = (gold: string, prediction: string, rules: Partial<Compare.Rules> = {}): boolean | undefined => {
  const verdict = Integers.areEqual(gold, prediction)
  if (verdict !== undefined) return verdict
  if (gold.length > maxAtOnce || prediction.length > maxAtOnce) return undefined
  let isPlain = true
  const compared = equivalent(
    gold,
    prediction,
    (latex) => {
      const expression = Plain.read(latex)
      if (expression === undefined) isPlain = false
      return expression
    },
    rules
  )
  return compared || isPlain ? compared : undefined
}
