/**
 * Reads unstructured parts: numbers (in a base, mixed, with spaces between thousands), expressions with their units,
 * words.
 */
import type { Answer } from "./Answer.ts"
import * as Exact from "./expression/Exact.ts"
import { number, type Expression } from "./expression/Expression.ts"
import type { Reader } from "./Latex.ts"
import { canonicalText } from "./Normalise.ts"
import * as Plain from "./Plain.ts"
import * as Units from "./Units.ts"
import * as Wording from "../text/Wording.ts"

const inBase = /^(?=[a-fA-F]{0,40}\d)([\da-fA-F]{1,200})_\{?(\d{1,2})\}?$/

/**
 * A number in a base is an opaque function of its value, so that it only equals the same number in the same base. One
 * in base ten is a plain number.
 */
const readBase = (text: string): Expression | undefined => {
  const [, digits = "", baseDigits = ""] = inBase.exec(text) ?? []
  const base = Number(baseDigits)
  const values = Array.from(digits, (digit) => Number.parseInt(digit, 16))
  if (base < 2 || base > 16 || values.some((digit) => digit >= base)) return undefined
  if (base === 10) return number(Exact.fromInteger(BigInt(digits)))
  let value = 0n
  for (const digit of values) value = value * BigInt(base) + BigInt(digit)
  return { _tag: "Call", name: "base", args: [number(Exact.fromInteger(value)), number(Exact.fromInteger(base))] }
}

/** True if digits are separated: they are two numbers, unless they are mixed. */
const isApart = (text: string): boolean => /(?<![_^\d])\d+\s+\d/.test(text)

/** `2\frac{1}{2}x` is `(2+\frac{1}{2})x`; an integer next to an improper fraction is neither a sum nor a product. */
const withMixed = (text: string): string =>
  text.replaceAll(
    /(?<![\d.^_}a-zA-Z\\])(\d+)\s*\\frac\s*(?:\{\s*(\d+)\s*\}|(\d))\s*(?:\{\s*(\d+)\s*\}|(\d))/g,
    (_, whole: string, above: string, one: string, below: string, two: string) =>
      BigInt(above ?? one) < BigInt(below ?? two)
        ? `(${whole}+\\frac{${above ?? one}}{${below ?? two}})`
        : "\\improper "
  )

/** True if a quantity contains words: the engine would read "0 maybe 5" as a product of letters. */
const hasWords = (text: string): boolean => {
  const bare = text.replaceAll(/\\[a-zA-Z]+/g, " ")
  return /[a-zA-Z]{4}/.test(bare) || (/[a-zA-Z]{2}/.test(bare) && !Wording.isNeutral(bare))
}

/** The leaf of an unstructured text: a quantity, or words. */
export const leaf = (text: string, read: Reader): Answer => {
  const { isPercent = false, number: spaced, scale, unit } = Units.quantity(Units.inRadians(text))
  const quantity = /^[+-]?\d{1,3}(?: \d{3})+(?:\.\d+)?$/.test(spaced) ? spaced.replaceAll(" ", "") : spaced
  const isWords = /\\text\{/.test(quantity) || /^[a-zA-Z]{3,}(?:\s+[a-zA-Z]+)*$/.test(quantity) || quantity === ""
  if (isWords) return { _tag: "Words", text: canonicalText(text) }
  return {
    _tag: "Leaf",
    text: canonicalText(text),
    // The engine would read `5 6` as 56.
    expression:
      readBase(quantity) ??
      Plain.read(quantity) ??
      (isApart(quantity) || hasWords(quantity) ? undefined : read(withMixed(quantity))),
    scale,
    unit,
    isPercent,
    decimalPlaces: Plain.decimalPlaces(quantity)
  }
}
