/**
 * Reads plain numbers (integers, decimals, simple and mixed fractions, scientific notation, infinity) without
 * compute-engine.
 *
 * Most answers are plain numbers, so that ordinary grading avoids the 0.3 s of loading the engine and the round trip to
 * a worker. Sample: `-1\frac{1}{2}` is -3/2, `0.50` is 1/2, `3/4` is 3/4.
 */
import * as Exact from "./expression/Exact.ts"
import { number, type Expression } from "./expression/Expression.ts"

const decimal = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)$/
const fraction =
  /^([+-]?)\s*(?:\\frac\s*(?:\{\s*([+-]?\d+)\s*\}\s*\{\s*([+-]?\d+)\s*\}|(\d)\s*(\d)|(\d)\s*\{\s*(\d+)\s*\}|\{\s*(\d+)\s*\}\s*(\d))|(\d+)\s*\/\s*(-?\d+))$/
const mixed = /^([+-]?)\s*(\d+)\s*(?:\\frac\s*(?:\{\s*(\d+)\s*\}\s*\{\s*(\d+)\s*\}|(\d)\s*(\d))|\s(\d+)\/(\d+))$/
const scientific =
  /^([+-]?(?:\d+(?:\.\d*)?|\.\d+))\s*(?:(?:\\times|\\cdot|\*)\s*10\s*\^\s*(?:\{\s*([+-]?\d{1,4})\s*\}|([+-]?\d))|[eE]([+-]?\d{1,4}))$/
const repeating =
  /^([+-]?)(\d*)\.(\d*)\s*(?:\\(?:overline|bar|dot)\s*(?:\{\s*(\d{1,60})\s*\}|(\d))|\\dot\s*(?:\{\s*(\d)\s*\}|(\d))\s*(\d{0,58})\s*\\dot\s*(?:\{\s*(\d)\s*\}|(\d))|(?<=\.)\((\d{1,60})\))$/
const cutOff = /^([+-]?)(\d*)\.(\d{2,60})\s*\\dots$/
const infinity = /^([+-]?)\s*\\infty$/

const signed = (sign: string | undefined, value: Exact.Rational | undefined) =>
  value === undefined || sign !== "-" ? value : Exact.negate(value)

const firstTwo = (groups: ReadonlyArray<string | undefined>): readonly [string, string] | undefined => {
  const [a, b] = groups.filter((group) => group !== undefined)
  return a === undefined || b === undefined ? undefined : [a, b]
}

const readFraction = (text: string) => {
  const match = fraction.exec(text)
  const parts = match === null ? undefined : firstTwo(match.slice(2))
  return parts === undefined ? undefined : signed(match?.[1], Exact.make(BigInt(parts[0]), BigInt(parts[1])))
}

/** `2\frac{1}{3}` is 2 + 1/3 if the fraction is proper; otherwise it is a product and not read here. */
const readMixed = (text: string) => {
  const match = mixed.exec(text)
  const parts = match === null ? undefined : firstTwo(match.slice(3))
  if (match === null || parts === undefined) return undefined
  const [numerator, denominator] = [BigInt(parts[0]), BigInt(parts[1])]
  if (numerator >= denominator) return undefined
  return signed(match[1], Exact.make(BigInt(match[2] ?? "0") * denominator + numerator, denominator))
}

const readScientific = (text: string) => {
  const match = scientific.exec(text)
  return match === null ? undefined : Exact.fromDecimal(`${match[1]}e${match[2] ?? match[3] ?? match[4]}`)
}

/**
 * `0.1\overline{6}`, `0.\dot1 4285\dot7`, `0.(6)`: the repeated digits over as many nines. `0.5(6)` may be a product.
 */
const readRepeating = (text: string) => {
  const [match, sign, whole, places = "", ...repeated] = repeating.exec(text) ?? []
  if (match === undefined) return undefined
  const digits = repeated.join("")
  const start = Exact.fromDecimal(`${whole}.${places}0`)
  const rest = Exact.make(BigInt(digits), (10n ** BigInt(digits.length) - 1n) * 10n ** BigInt(places.length))
  return start === undefined || rest === undefined ? undefined : signed(sign, Exact.add(start, rest))
}

/**
 * `0.666\dots`: what the decimals end with at least twice repeats, in the shortest form that does; undefined without
 * such digits (`3.14159\dots`).
 */
const readCutOff = (text: string) => {
  const [, sign = "", whole = "", places = ""] = cutOff.exec(text) ?? []
  for (let period = 1; 2 * period <= places.length; period++) {
    const block = places.slice(-period)
    if (!places.endsWith(block + block)) continue
    return /^0+$/.test(block) ? undefined : readRepeating(`${sign}${whole}.${places}\\overline{${block}}`)
  }
  return undefined
}

/** The number that the whole `text` is, or undefined. */
export const read = (text: string): Expression | undefined => {
  const trimmed = text.trim()
  if (decimal.test(trimmed)) {
    const value = Exact.fromDecimal(trimmed)
    return value === undefined ? undefined : number(value)
  }
  const toInfinity = infinity.exec(trimmed)
  if (toInfinity !== null) return { _tag: "Infinity", isNegative: toInfinity[1] === "-" }
  const value =
    readFraction(trimmed) ??
    readMixed(trimmed) ??
    readScientific(trimmed) ??
    readRepeating(trimmed) ??
    readCutOff(trimmed)
  return value === undefined ? undefined : number(value)
}

/** Digits after the point of a plain decimal such as `3.14`; undefined otherwise. */
export const decimalPlaces = (text: string): number | undefined => {
  const trimmed = text.trim()
  return decimal.test(trimmed) && trimmed.includes(".") ? trimmed.length - trimmed.indexOf(".") - 1 : undefined
}
