/**
 * Computes real functions in fixed point on BigInt: a number x is the integer nearest to x · 2^384.
 *
 * Doubles cannot distinguish `\sqrt{10^{40}+1}` from `10^{20}`. Results are accurate to 2^-340 for arguments of
 * ordinary size; magnitudes are bounded by the caller (`ExpressionValue`). Method: argument reduction, then Taylor
 * series (Brent and Zimmermann, Modern Computer Arithmetic, chapter 4).
 */
import { integerRoot, type Rational } from "./expression/Exact.ts"

/** A real number times 2^384, rounded. */
export type Fixed = bigint

export const fractionBits = 384n
export const one: Fixed = 1n << fractionBits

export const fromRational = (a: Rational): Fixed => (a.numerator << fractionBits) / a.denominator

export const multiply = (a: Fixed, b: Fixed): Fixed => (a * b) >> fractionBits

/** `a / b`; `b` must not be zero. */
export const divide = (a: Fixed, b: Fixed): Fixed => (a << fractionBits) / b

const halvings = 12n

/** e^x by (e^(x / 2^12))^(2^12); meant for |x| up to a few hundred. */
export const exp = (x: Fixed): Fixed => {
  // Multiples of ln 2 are removed first, so that the squarings do not amplify the error of a large argument.
  const k = x / ln2
  const reduced = (x - k * ln2) >> halvings
  let [term, sum] = [one, one]
  for (let n = 1n; term !== 0n; n++) {
    term = multiply(term, reduced) / n
    // Shifting a negative number right rounds down and would stay at -1.
    if (term === -1n) break
    sum += term
  }
  for (let i = 0n; i < halvings; i++) sum = multiply(sum, sum)
  return k >= 0n ? sum << k : sum >> -k
}

/** 2 artanh(z) = ln((1 + z) / (1 - z)) for |z| <= 1/3. */
const twoArtanh = (z: Fixed): Fixed => {
  const square = multiply(z, z)
  let [power, sum] = [z, 0n]
  for (let n = 1n; power !== 0n && power !== -1n; n += 2n) {
    sum += power / n
    power = multiply(power, square)
  }
  return 2n * sum
}

const ln2: Fixed = twoArtanh(one / 3n)

/** Natural logarithm of `x > 0`. */
export const ln = (x: Fixed): Fixed => {
  const shift = BigInt(x.toString(2).length) - fractionBits - 1n
  const mantissa = shift >= 0n ? x >> shift : x << -shift
  return shift * ln2 + twoArtanh(divide(mantissa - one, mantissa + one))
}

/** The `degree`-th root of `a > 0`: square and cube roots by integers, others as e^(ln(a) / degree). */
export const root = (a: Fixed, degree: number): Fixed =>
  degree <= 3 ? integerRoot(a << (fractionBits * BigInt(degree - 1)), degree) : exp(ln(a) / BigInt(degree))

/** Arctangent by halving the argument four times (atan x = 2 atan(x / (1 + sqrt(1 + x²)))), then the series. */
export const atan = (x: Fixed): Fixed => {
  let reduced = x
  for (let i = 0; i < 4; i++) {
    reduced = divide(reduced, one + root(one + multiply(reduced, reduced), 2))
  }
  const square = multiply(reduced, reduced)
  let [power, sum] = [reduced, 0n]
  for (let n = 1n; power !== 0n && power !== -1n; n += 2n) {
    sum += n % 4n === 1n ? power / n : -(power / n)
    power = multiply(power, square)
  }
  return sum << 4n
}

/** 16 atan(1/5) - 4 atan(1/239) (Machin). */
export const pi: Fixed = 16n * atan(one / 5n) - 4n * atan(one / 239n)

/** `[sin x, cos x]`, reduced to one turn, then by Taylor series. */
export const sinCos = (x: Fixed): readonly [sin: Fixed, cos: Fixed] => {
  const turn = 2n * pi
  const reduced = x - (x / turn) * turn
  let [term, sin, cos] = [one, 0n, one]
  for (let n = 1n; ; n++) {
    term = multiply(term, reduced) / n
    if (term === 0n || term === -1n) return [sin, cos]
    if (n % 2n === 1n) sin += n % 4n === 1n ? term : -term
    else cos += n % 4n === 0n ? term : -term
  }
}

/** The angle of the point (x, y), in (-π, π]; the point must not be the origin. */
export const atan2 = (y: Fixed, x: Fixed): Fixed => {
  if (x > 0n) return atan(divide(y, x))
  if (x === 0n) return y > 0n ? pi / 2n : -pi / 2n
  return y >= 0n ? atan(divide(y, x)) + pi : atan(divide(y, x)) - pi
}
