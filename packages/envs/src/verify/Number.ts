/**
 * Judges numbers in plain text, exactly or within a tolerance, and finds integers from a list of choices.
 *
 * Numbers are read as rationals: `0.1` is one tenth, and `12345678901234567890` is not rounded. Sample: in "It costs
 * $1,200.50." the number is 1200.5. For LaTeX, fractions and units use `MathAnswer`.
 */
import * as Exact from "./math/expression/Exact.ts"
import * as Integers from "./math/Integers.ts"
import { afterThinking, extractReference, marked } from "./text/Extract.ts"
import { ascii as asciiSigns } from "./text/Signs.ts"
import { isWithinLimits, normalise } from "./math/Normalise.ts"
import * as Magnitudes from "./text/Magnitudes.ts"
import * as Ordinals from "./math/Ordinals.ts"
import * as Numerals from "./text/Numerals.ts"
import * as Spelled from "./text/Spelled.ts"
import * as Units from "./math/Units.ts"
import * as Wording from "./text/Wording.ts"

export { ascii as asciiSigns } from "./text/Signs.ts"

/**
 * A numeral with everything that is glued to it: `3/4`, `2^5`, `12:30` and `3-5` are not
 * their last number.
 */
const pattern = new RegExp(
  `(?<![\\w.]|\\d[,'’/:^–-]|[\\^_][{(]?[-+]?)[-+]?${Numerals.pattern}(?:[/:^–-]${Numerals.pattern})*(?:[eE][-+]?\\d{1,3})?([a-zA-Z]*)(?![\\w]|[.,'’/:^–-]\\d)`,
  "g"
)

/** Sign, currency, numeral, exponent, and a currency or percent sign. */
const written =
  /^([-+]?)\s?(?:\\?[$€£¥₹])?\s?([-+]?)([\d.,'’_ \u00a0\u2009\u202f]*)([eE][-+]?\d{1,4})?\s?(?:\\?[$€£¥₹%％٪]|per\s?cent)?\.?$/i

/** Longer numbers are not computed with; integers are then compared by digits. */
const maxLength = 400

/**
 * The number that `text` is, with the separators of any country (`Numerals`), currency sign and percent sign allowed;
 * undefined for anything else. 25% is 25.
 */
export const parse = (text: string): Exact.Rational | undefined => {
  const trimmed = asciiSigns(text.trim())
  const [, before = "", sign = "", digits = "", exponent = ""] =
    trimmed.length > maxLength ? [] : (written.exec(trimmed) ?? [])
  const numeral = Numerals.plain(digits.trim().replace(/(?<=\d)\.$/, ""))
  return numeral === undefined || (before !== "" && sign !== "")
    ? undefined
    : Exact.fromDecimal(before + sign + numeral + exponent)
}

interface Numeral {
  readonly text: string
  readonly at: number
  readonly length: number
}

/** Number words behind a number, as the power of ten that they stand for. A dozen is not a power of ten. */
const magnitude = /^\s?(?:\\text\{\s?)?(hundred|thousand|lakh|million|crore|billion|trillion|dozen)s?(?![a-zA-Z])/i
const powers: { readonly [word: string]: string } = {
  hundred: "e2",
  thousand: "e3",
  lakh: "e5",
  million: "e6",
  crore: "e7",
  billion: "e9",
  trillion: "e12"
}

/** A numeral with its number word, `1.2` of "1.2 million" as `1.2e6`; undefined if it has another value. */
const withMagnitude = (numeral: string, behind: string): string | undefined => {
  const word = magnitude.exec(behind)?.[1]?.toLowerCase()
  if (word === undefined) return numeral
  const power = powers[word]
  return power === undefined || /[eE/:^–]|\d-/.test(numeral) ? undefined : numeral + power
}

const vulgar = /[¼-¾⅐-⅞]/u
/** Those with a finite decimal. */
const withFraction = /(?<![\d.,]\d{0,20}[.,])(\d{0,20})([½¼¾⅕⅖⅗⅘⅛⅜⅝⅞])(?!\d)/g
const decimalOf = (fraction: string): string => {
  const [above, below] = fraction.normalize("NFKC").split("⁄").map(Number)
  return String(above! / below!).slice(1)
}
const modulus = /(?<=\d)\s?(?:\(\s?mod(?:ulo)?\s\d{1,20}\s?\)|\\pmod\s?\{?\s?\d{1,20}\}?)/g

/** `3½` as 3.5, and "5 (mod 7)" as 5: the question names the modulus. */
const plain = (text: string): string =>
  Magnitudes.inEnglish(text)
    .replaceAll(modulus, "")
    .replaceAll(withFraction, (_, whole: string, fraction: string) => `${whole || "0"}${decimalOf(fraction)}`)

/** Numbers, and numerals that cannot be read as one. Letters that are glued to a number must be a unit: not "5th". */
const numbersIn = (text: string): ReadonlyArray<Numeral> =>
  [...text.matchAll(pattern)].flatMap(({ 0: whole, 1: letters = "", index }) => {
    if (letters !== "" && !Units.isUnit(letters)) return []
    const numeral = whole.slice(0, whole.length - letters.length)
    const end = index + whole.length
    // Of ⅓ there is no decimal.
    if (vulgar.test(text.charAt(end))) return [{ text: "", at: index, length: numeral.length }]
    return [{ text: withMagnitude(numeral, text.slice(end, end + 24)) ?? "", at: index, length: numeral.length }]
  })

/**
 * The number of an announced answer: the one after its last "=", or the only one. Undefined for several, or a denied
 * one.
 */
const onlyNumber = (announced: string): string | undefined => {
  if (!isWithinLimits(announced)) return undefined
  const answer = normalise(Ordinals.withoutEnding(plain(announced)))
  const [number, ...more] = numbersIn(answer.slice(answer.lastIndexOf("=") + 1))
  const isOne =
    more.length === 0 && !Wording.isDoubtful(answer) && !/\\(?:frac|neq|leq|geq|approx|pm)|[<>]/.test(answer)
  return isOne && number?.text !== "" ? number?.text : undefined
}

/** "72, not 73" and "72 (not 73)" state the first. */
const contrast =
  /(?<=\d[^.!?\n]{0,40})(?:,\s(?:and\s)?not\s(?:[$€£]\s?)?-?\d+(?:[.,]\d+)*(?![\d/^:])|\s\(not\s(?:[$€£]\s?)?-?\d+(?:[.,]\d+)*\))/g
/** "minus 5", not after another number. */
const spokenMinus = /(?<![\d)%]\s?|(?<![a-zA-Z])[a-zA-Z]\s)(?<![a-zA-Z])(?:minus|negative)\s(?=\d)/gi

/** Characters of a sentence that are considered around a number. */
const reach = 200

/** The sentence that contains the number at `at`, without it. */
const sentenceAround = (text: string, at: number, length: number): string => {
  const before =
    text
      .slice(Math.max(0, at - reach), at)
      .split(/[!?\n]|\.\s/)
      .at(-1) ?? ""
  const after = /^(?:[^.!?\n]|\.(?=\d))*\??/.exec(text.slice(at + length, at + length + reach))?.[0] ?? ""
  return `${before} ${after}`
}

/**
 * The number of a completion, after its reasoning: the boxed or announced one if there is one, else the last, unless
 * its sentence denies it, offers another one or asks.
 */
export const extract = (completion: string): string | undefined => {
  const announced = marked(completion)
  if (announced !== undefined) {
    return announced.answer === undefined ? undefined : onlyNumber(announced.answer)
  }
  const text = plain(Spelled.withoutSums(asciiSigns(afterThinking(completion).slice(-20_000))))
    .replaceAll(contrast, "")
    .replaceAll(spokenMinus, "-")
    .replaceAll("__", "**")
  const last = numbersIn(text).at(-1)
  if (last === undefined) return undefined
  const sentence = sentenceAround(text, last.at, last.length)
  const isOpen =
    Wording.isDeniedBy(text.slice(0, last.at)) || Wording.isOneOfSeveral(sentence) || sentence.endsWith("?")
  return isOpen || last.text === "" ? undefined : last.text
}

/** `12,5` is 12.5 if the other number has a decimal point. */
const withPoint = (text: string, other: string): string =>
  /\d\.\d/.test(other) && /^[^\d,]*\d+,\d{1,2}(?![\d,])/.test(text) ? text.replace(",", ".") : text

const currencyOf = (text: string): string | undefined => /[$€£¥₹]/.exec(text)?.[0]

export interface Tolerance {
  /** Max absolute difference. */
  readonly absolute?: number
  /** Max difference relative to the reference. */
  readonly relative?: number
}

/** True if two numbers are equal, exactly or within the wider of the tolerances; false if either is NaN. */
export const equivalent = (gold: string, prediction: string, tolerance: Tolerance = {}): boolean => {
  if (Integers.areEqual(gold, prediction) === true) return true
  const [own, other] = [currencyOf(gold), currencyOf(prediction)]
  if (own !== undefined && other !== undefined && own !== other) return false
  const [a, b] = [parse(withPoint(gold, prediction)), parse(withPoint(prediction, gold))]
  if (a === undefined || b === undefined) return false
  if (Exact.equals(a, b)) return true
  const difference = Exact.subtract(a, b)
  const absolute = Exact.fromDecimal(String(tolerance.absolute ?? 0))
  const share = Exact.fromDecimal(String(tolerance.relative ?? 0))
  const relative = share === undefined ? undefined : Exact.multiply(share, Exact.absoluteValue(a))
  if (difference === undefined) return false
  const distance = Exact.absoluteValue(difference)
  return [absolute, relative].some((bound) => bound !== undefined && Exact.compare(distance, bound) <= 0)
}

/** The number of a reference: itself, or that of a solution or a list with one text. */
export const ofReference = (reference: string): string | undefined => {
  if (parse(reference) !== undefined) return reference
  const answer = Spelled.withoutExplanation(extractReference(reference))
  return parse(answer) === undefined ? extract(answer) : answer
}

/**
 * True if a completion's number equals that of the reference (a number, or a solution as `MathAnswer` reads it); false
 * without a number.
 */
export const grade = (reference: string, completion: string, tolerance: Tolerance = {}): boolean => {
  const answer = extract(completion)
  return answer !== undefined && equivalent(ofReference(reference) ?? reference, answer, tolerance)
}
