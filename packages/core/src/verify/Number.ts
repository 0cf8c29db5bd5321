/**
 * Judges numbers given in plain text, exactly or within a tolerance, and finds whole numbers from a list of choices.
 *
 * Numbers are read as rationals: `0.1` is one tenth, and `12345678901234567890` is not rounded. Sample: in "It costs $1,200.50." the number
 * is 1200.5. For LaTeX, fractions and units use `MathAnswer`.
 */
import * as Exact from "./Exact.ts"
import { afterThinking, extract as extractAnswer } from "./Extract.ts"

const pattern = /(?<![\w.])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+|(?<=\d)\.?)(?:[eE][-+]?\d{1,3})?(?![\w])/g

const clean = (text: string): string =>
  text
    .replaceAll(/[,\s$€£]/g, "")
    .replaceAll("−", "-")
    .replace(/\.$/, "")

/** The number that `text` is, with thousands separators and currency sign allowed; undefined for anything else. */
export const parse = (text: string): Exact.Rational | undefined => {
  const trimmed = text.trim()
  const isGrouped = !trimmed.includes(",") || /^[^\d]*\d{1,3}(?:,\d{3})+(?:\.\d+)?$/.test(trimmed)
  return trimmed.length <= 400 && isGrouped ? Exact.fromDecimal(clean(trimmed)) : undefined
}

/** The last number of a completion, after its thinking: the announced or boxed one where there is one. */
export const extract = (completion: string): string | undefined => {
  const announced = extractAnswer(completion, { unmarked: "none" })
  const text = announced ?? afterThinking(completion).slice(-20_000)
  return [...text.matchAll(pattern)].map(([number]) => number).findLast((number) => /\d/.test(number))
}

export interface Tolerance {
  /** Largest difference, as it is. */
  readonly absolute?: number
  /** Largest difference as a share of the reference. */
  readonly relative?: number
}

/** Whether two numbers are equal, exactly or within the wider of the tolerances; false where one is no number. */
export const equivalent = (gold: string, prediction: string, tolerance: Tolerance = {}): boolean => {
  const [a, b] = [parse(gold), parse(prediction)]
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

/** Whether a completion's number is the reference's; false where there is none. */
export const grade = (reference: string, completion: string, tolerance: Tolerance = {}): boolean => {
  const answer = extract(completion)
  return answer !== undefined && equivalent(reference, answer, tolerance)
}
