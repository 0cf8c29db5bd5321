/**
 * Implements exact rational numbers on BigInt, in lowest terms with a positive denominator.
 *
 * Every operation that can grow its operands is bounded: a result of more than `maxBits` bits is not computed but
 * `undefined` ("undecided"), so that no answer can cause unbounded work. There is no rounding anywhere.
 */

export interface Rational {
  readonly numerator: bigint
  readonly denominator: bigint
}

/** Larger integers are not computed. */
const maxBits = 20_000
/** Larger parts of fractions are not computed: reducing them takes quadratic time. */
const maxFractionBits = 6_000

const absolute = (n: bigint): bigint => (n < 0n ? -n : n)

/** Number of bits of `n`, within three bits: hexadecimal digits times four. */
const bitLength = (n: bigint): number => absolute(n).toString(16).length * 4

const greatestCommonDivisor = (a: bigint, b: bigint): bigint => {
  let [x, y] = [absolute(a), absolute(b)]
  while (y !== 0n) [x, y] = [y, x % y]
  return x
}

/** `numerator / denominator` in lowest terms; undefined if the denominator is zero or the parts are too long. */
export const make = (numerator: bigint, denominator = 1n): Rational | undefined => {
  if (denominator === 0n) return undefined
  if (denominator === 1n) return bitLength(numerator) > maxBits ? undefined : { numerator, denominator }
  if (bitLength(numerator) > 2 * maxFractionBits || bitLength(denominator) > 2 * maxFractionBits) return undefined
  const divisor = greatestCommonDivisor(numerator, denominator) * (denominator < 0n ? -1n : 1n)
  const result = { numerator: numerator / divisor, denominator: denominator / divisor }
  return bitLength(result.numerator) > maxFractionBits || bitLength(result.denominator) > maxFractionBits
    ? undefined
    : result
}

export const fromInteger = (n: bigint | number): Rational => ({ numerator: BigInt(n), denominator: 1n })

export const zero = fromInteger(0)
export const one = fromInteger(1)

const decimalPattern = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,4}))?$/

/** Reads `-12.50` or `1e+26` exactly; undefined for anything else. */
export const fromDecimal = (text: string): Rational | undefined => {
  const match = decimalPattern.exec(text)
  const [, sign, whole = "", fraction = "", exponent = "0"] = match ?? []
  if (match === null || whole.length + fraction.length === 0) return undefined
  const shift = Number(exponent) - fraction.length
  if (Math.abs(shift) > 4_000) return undefined
  const digits = BigInt(`${sign === "-" ? "-" : ""}${whole}${fraction}`)
  return shift >= 0 ? make(digits * 10n ** BigInt(shift)) : make(digits, 10n ** BigInt(-shift))
}

export const add = (a: Rational, b: Rational) =>
  make(a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator)

export const negate = (a: Rational): Rational => ({ numerator: -a.numerator, denominator: a.denominator })

export const subtract = (a: Rational, b: Rational) => add(a, negate(b))

/** A fraction already in lowest terms, unless its parts are too long. */
const reduced = (numerator: bigint, denominator: bigint): Rational | undefined => {
  const limit = denominator === 1n ? maxBits : maxFractionBits
  return bitLength(numerator) > limit || bitLength(denominator) > limit ? undefined : { numerator, denominator }
}

/** Cancels crosswise first: linear time if one operand is short. */
export const multiply = (a: Rational, b: Rational): Rational | undefined => {
  if (a.denominator === 1n && b.denominator === 1n) return reduced(a.numerator * b.numerator, 1n)
  const [left, right] = [
    greatestCommonDivisor(a.numerator, b.denominator),
    greatestCommonDivisor(b.numerator, a.denominator)
  ]
  return reduced((a.numerator / left) * (b.numerator / right), (a.denominator / right) * (b.denominator / left))
}

/** Undefined for a divisor of zero. */
export const divide = (a: Rational, b: Rational): Rational | undefined => {
  if (b.numerator === 0n) return undefined
  return multiply(
    a,
    b.numerator < 0n
      ? { numerator: -b.denominator, denominator: -b.numerator }
      : { numerator: b.denominator, denominator: b.numerator }
  )
}

/** `a` to an integer power; undefined for `0` to a negative power and if the result would be too long. */
export const power = (a: Rational, exponent: bigint): Rational | undefined => {
  if (a.numerator === 0n) return exponent > 0n ? zero : exponent === 0n ? one : undefined
  if (a.denominator === 1n && absolute(a.numerator) === 1n) return exponent % 2n === 0n ? one : a
  const times = absolute(exponent)
  const bits = BigInt(Math.max(bitLength(a.numerator), bitLength(a.denominator)))
  if (times * bits > BigInt(maxBits)) return undefined
  const [numerator, denominator] = [a.numerator ** times, a.denominator ** times]
  if (exponent >= 0n) return reduced(numerator, denominator)
  return numerator < 0n ? reduced(-denominator, -numerator) : reduced(denominator, numerator)
}

/** The largest integer whose `degree`-th power is at most `n` (n >= 0), by Newton's iteration. */
export const integerRoot = (n: bigint, degree: number): bigint => {
  if (n < 2n) return n
  const k = BigInt(degree)
  let x = 1n << BigInt(Math.ceil(bitLength(n) / degree) + 1)
  for (;;) {
    const next = ((k - 1n) * x + n / x ** (k - 1n)) / k
    if (next >= x) return x
    x = next
  }
}

/** The real `degree`-th root if it is rational, else undefined. Odd roots of negative numbers are negative. */
export const root = (a: Rational, degree: number): Rational | undefined => {
  if (a.numerator < 0n) {
    const positive = degree % 2 === 1 ? root(negate(a), degree) : undefined
    return positive === undefined ? undefined : negate(positive)
  }
  const [numerator, denominator] = [integerRoot(a.numerator, degree), integerRoot(a.denominator, degree)]
  const isExact = numerator ** BigInt(degree) === a.numerator && denominator ** BigInt(degree) === a.denominator
  return isExact ? { numerator, denominator } : undefined
}

export const floor = (a: Rational): bigint => {
  const quotient = a.numerator / a.denominator
  return a.numerator < 0n && quotient * a.denominator !== a.numerator ? quotient - 1n : quotient
}

export const isInteger = (a: Rational): boolean => a.denominator === 1n

export const isZero = (a: Rational): boolean => a.numerator === 0n

export const equals = (a: Rational, b: Rational): boolean =>
  a.numerator === b.numerator && a.denominator === b.denominator

/** Negative if `a < b`, zero if equal, positive if `a > b`. */
export const compare = (a: Rational, b: Rational): number => {
  const difference = a.numerator * b.denominator - b.numerator * a.denominator
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

export const absoluteValue = (a: Rational): Rational => (a.numerator < 0n ? negate(a) : a)
