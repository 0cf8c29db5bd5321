/**
 * Computes with complex numbers for `ExpressionValue`: exact (Gaussian rationals) as long as possible, else fixed point
 * with 384 binary places.
 *
 * `undefined` always means "undecided": division by zero, more than 2^1000, or a product, quotient or power so close to
 * zero (2^-180) that the fixed-point form would lose it. Only a difference can therefore be tiny, which means that the
 * operands cancel. Values too fine for the precision are undecided too: rationals of more than 200 bits (128 in a
 * denominator) combined with approximate values, and terms of a sum that are 2^180 times smaller than another.
 * Remaining values that agree to 290 bits are equal.
 */
import * as Exact from "./expression/Exact.ts"
import * as Fixed from "./Fixed.ts"

export type Value =
  | { readonly _tag: "Exact"; readonly re: Exact.Rational; readonly im: Exact.Rational }
  | { readonly _tag: "Approximate"; readonly re: Fixed.Fixed; readonly im: Fixed.Fixed }

/** Undefined if undecided. */
export type Maybe<A> = A | undefined

const largest = 1n << (Fixed.fractionBits + 1000n)
const smallest = 1n << (Fixed.fractionBits - 180n)
/** Below this, an approximate value is indistinguishable from zero. */
const noise = 1n << (Fixed.fractionBits - 330n)

const magnitude = (n: bigint): bigint => (n < 0n ? -n : n)

export const exact = (re: Exact.Rational, im: Exact.Rational = Exact.zero): Value => ({ _tag: "Exact", re, im })

const exactMaybe = (re: Maybe<Exact.Rational>, im: Maybe<Exact.Rational>): Maybe<Value> =>
  re === undefined || im === undefined ? undefined : exact(re, im)

/** An approximate value, unless it is out of range. */
export const approximate = (re: Fixed.Fixed, im: Fixed.Fixed = 0n): Maybe<Value> =>
  magnitude(re) > largest || magnitude(im) > largest ? undefined : { _tag: "Approximate", re, im }

/** Like `approximate`, for nonzero results: too small is undecided. */
const nonZero = (re: Fixed.Fixed, im: Fixed.Fixed): Maybe<Value> =>
  magnitude(re) < smallest && magnitude(im) < smallest ? undefined : approximate(re, im)

interface Parts {
  readonly re: Fixed.Fixed
  readonly im: Fixed.Fixed
}

/** Both parts in fixed point; undecided if an exact value is too small or too large for it. */
export const toFixed = (a: Value): Maybe<Parts> => {
  if (a._tag === "Approximate") return a
  if (isZero(a)) return { re: 0n, im: 0n }
  if (isTooFine(a)) return undefined
  return nonZero(Fixed.fromRational(a.re), Fixed.fromRational(a.im)) as Maybe<Parts>
}

/** Exactly zero, or approximately zero by cancellation. */
export const isZero = (a: Value): boolean =>
  a._tag === "Exact" ? Exact.isZero(a.re) && Exact.isZero(a.im) : magnitude(a.re) < noise && magnitude(a.im) < noise

/** The real number that `a` is, in fixed point; undecided for a complex number. */
export const toReal = (a: Value): Maybe<Fixed.Fixed> => {
  const parts = toFixed(a)
  return parts === undefined || magnitude(parts.im) > noise ? undefined : parts.re
}

/** The exact rational value of `a`, if it has one. */
export const toRational = (a: Value): Maybe<Exact.Rational> =>
  a._tag === "Exact" && Exact.isZero(a.im) ? a.re : undefined

/** The sign of a real number; undecided for a complex one. */
export const sign = (a: Value): Maybe<number> => {
  if (isZero(a)) return 0
  const rational = toRational(a)
  if (rational !== undefined) return rational.numerator < 0n ? -1 : 1
  const real = toReal(a)
  return real === undefined ? undefined : real < 0n ? -1 : 1
}

const size = ({ im, re }: Parts): bigint => (magnitude(re) > magnitude(im) ? magnitude(re) : magnitude(im))

/** True if the smaller one, though not zero, would be lost in the sum. */
const isLost = (smaller: Parts, larger: Parts): boolean => size(smaller) > noise && size(smaller) < size(larger) >> 180n

export const add = (a: Value, b: Value): Maybe<Value> => {
  if (a._tag === "Exact" && b._tag === "Exact") return exactMaybe(Exact.add(a.re, b.re), Exact.add(a.im, b.im))
  const [x, y] = [toFixed(a), toFixed(b)]
  if (x === undefined || y === undefined || isLost(x, y) || isLost(y, x)) return undefined
  return approximate(x.re + y.re, x.im + y.im)
}

export const negate = (a: Value): Value =>
  a._tag === "Exact" ? exact(Exact.negate(a.re), Exact.negate(a.im)) : { _tag: "Approximate", re: -a.re, im: -a.im }

export const subtract = (a: Value, b: Value): Maybe<Value> => add(a, negate(b))

const combine = (
  operator: (a: Exact.Rational, b: Exact.Rational) => Maybe<Exact.Rational>,
  a: Maybe<Exact.Rational>,
  b: Maybe<Exact.Rational>
) => (a === undefined || b === undefined ? undefined : operator(a, b))

export const multiply = (a: Value, b: Value): Maybe<Value> => {
  if (a._tag === "Exact" && b._tag === "Exact") {
    if (Exact.isZero(a.im) && Exact.isZero(b.im)) return exactMaybe(Exact.multiply(a.re, b.re), Exact.zero)
    return exactMaybe(
      combine(Exact.subtract, Exact.multiply(a.re, b.re), Exact.multiply(a.im, b.im)),
      combine(Exact.add, Exact.multiply(a.re, b.im), Exact.multiply(a.im, b.re))
    )
  }
  if (isZero(a) || isZero(b)) return exact(Exact.zero)
  const [x, y] = [toFixed(a), toFixed(b)]
  if (x === undefined || y === undefined) return undefined
  return nonZero(
    Fixed.multiply(x.re, y.re) - Fixed.multiply(x.im, y.im),
    Fixed.multiply(x.re, y.im) + Fixed.multiply(x.im, y.re)
  )
}

export const divide = (a: Value, b: Value): Maybe<Value> => {
  if (isZero(b)) return undefined
  if (a._tag === "Exact" && b._tag === "Exact") {
    if (Exact.isZero(a.im) && Exact.isZero(b.im)) return exactMaybe(Exact.divide(a.re, b.re), Exact.zero)
    const norm = combine(Exact.add, Exact.multiply(b.re, b.re), Exact.multiply(b.im, b.im))
    const product = multiply(a, exact(b.re, Exact.negate(b.im)))
    return norm === undefined || product?._tag !== "Exact"
      ? undefined
      : exactMaybe(Exact.divide(product.re, norm), Exact.divide(product.im, norm))
  }
  if (isZero(a)) return exact(Exact.zero)
  const [x, y] = [toFixed(a), toFixed(b)]
  if (x === undefined || y === undefined) return undefined
  const norm = Fixed.multiply(y.re, y.re) + Fixed.multiply(y.im, y.im)
  if (norm < smallest) return undefined
  return nonZero(
    Fixed.divide(Fixed.multiply(x.re, y.re) + Fixed.multiply(x.im, y.im), norm),
    Fixed.divide(Fixed.multiply(x.im, y.re) - Fixed.multiply(x.re, y.im), norm)
  )
}

/** Max argument of `exp` whose result is in range. */
const largestExponent = 120n << Fixed.fractionBits

export const exp = (a: Value): Maybe<Value> => {
  const x = toFixed(a)
  if (x === undefined || magnitude(x.re) > largestExponent || magnitude(x.im) > largestExponent) return undefined
  const scale = Fixed.exp(x.re)
  if (magnitude(x.im) < noise) return nonZero(scale, 0n)
  const [sin, cos] = Fixed.sinCos(x.im)
  return nonZero(Fixed.multiply(scale, cos), Fixed.multiply(scale, sin))
}

/** Principal natural logarithm; undecided at zero. */
export const ln = (a: Value): Maybe<Value> => {
  if (isZero(a)) return undefined
  if (a._tag === "Exact" && Exact.equals(a.re, Exact.one) && Exact.isZero(a.im)) return exact(Exact.zero)
  const x = toFixed(a)
  if (x === undefined) return undefined
  if (magnitude(x.im) < noise) return approximate(Fixed.ln(magnitude(x.re)), x.re < 0n ? Fixed.pi : 0n)
  const norm = Fixed.multiply(x.re, x.re) + Fixed.multiply(x.im, x.im)
  return norm < smallest ? undefined : approximate(Fixed.ln(norm) / 2n, Fixed.atan2(x.im, x.re))
}

/** The real root of a real number if it exists, else the principal root. */
export const root = (a: Value, degree: number): Maybe<Value> => {
  if (isZero(a)) return exact(Exact.zero)
  const rational = toRational(a)
  const rooted = rational === undefined ? undefined : Exact.root(rational, degree)
  if (rooted !== undefined) return exact(rooted)
  if (rational !== undefined && rational.numerator < 0n && degree === 2) {
    const positive = root(exact(Exact.negate(rational)), 2)
    return positive === undefined ? undefined : multiply(positive, exact(Exact.zero, Exact.one))
  }
  const real = toReal(a)
  if (real !== undefined && real > 0n) return nonZero(Fixed.root(real, degree), 0n)
  if (real !== undefined && degree % 2 === 1) return nonZero(-Fixed.root(-real, degree), 0n)
  const logarithm = ln(a)
  const exponent = logarithm === undefined ? undefined : divide(logarithm, exact(Exact.fromInteger(degree)))
  return exponent === undefined ? undefined : exp(exponent)
}

const raise = (a: Value, times: bigint): Maybe<Value> => {
  const rational = toRational(a)
  if (rational !== undefined) return exactMaybe(Exact.power(rational, times), Exact.zero)
  if (times < 0n) {
    const positive = raise(a, -times)
    return positive === undefined ? undefined : divide(exact(Exact.one), positive)
  }
  if (times > 4_096n) return undefined
  let result: Maybe<Value> = exact(Exact.one)
  let square: Maybe<Value> = a
  for (let n = times; n > 0n && result !== undefined && square !== undefined; n >>= 1n) {
    if (n % 2n === 1n) result = multiply(result, square)
    if (n > 1n) square = result === undefined ? undefined : multiply(square, square)
  }
  return result !== undefined && square !== undefined ? result : undefined
}

/** `base^exponent`: integer powers exactly, rational powers through real roots, the rest as exp(exponent · ln base). */
export const power = (base: Value, exponent: Value): Maybe<Value> => {
  const rational = toRational(exponent)
  if (rational !== undefined && Exact.isInteger(rational)) return raise(base, rational.numerator)
  if (isZero(base)) return sign(exponent) === 1 ? exact(Exact.zero) : undefined
  if (rational !== undefined && rational.denominator <= 64n) {
    const rooted = root(base, Number(rational.denominator))
    return rooted === undefined ? undefined : raise(rooted, rational.numerator)
  }
  const logarithm = ln(base)
  const product = logarithm === undefined ? undefined : multiply(exponent, logarithm)
  return product === undefined ? undefined : exp(product)
}

const isFine = ({ denominator, numerator }: Exact.Rational): boolean =>
  denominator > finest || magnitude(numerator) > longest

/** True if an exact value has detail that is lost next to an approximate one: `1 + 10^{-100}`, or a convergent of π. */
const isTooFine = (a: Value): boolean => a._tag === "Exact" && (isFine(a.re) || isFine(a.im))

const finest = 1n << 128n
const longest = 1n << 200n
/** Approximate values closer to zero have too few digits to be called equal. */
const shallow = 1n << (Fixed.fractionBits - 100n)

/** True if two values are equal: exactly, or to about 87 decimal digits if either is approximate. */
export const equals = (a: Value, b: Value): boolean => {
  if (a._tag === "Exact" && b._tag === "Exact") return Exact.equals(a.re, b.re) && Exact.equals(a.im, b.im)
  const [x, y] = [toFixed(a), toFixed(b)]
  if (x === undefined || y === undefined) return false
  const scale = size(x) > size(y) ? size(x) : size(y)
  if (scale < shallow && scale > noise) return false
  const tolerance = (scale >> 290n) + noise
  return magnitude(x.re - y.re) <= tolerance && magnitude(x.im - y.im) <= tolerance
}
