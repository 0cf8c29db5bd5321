/**
 * Writes exact grammars of JSON numbers between bounds: as decimal digits, without exponents if there is a bound. At
 * most ten fraction digits, so that no answer rounds across a bound when it is parsed as a double.
 */
import * as Ebnf from "./Ebnf.ts"

/** A decimal number: integer digits, and fraction digits without trailing zeros. */
interface Decimal {
  readonly isNegative: boolean
  readonly whole: bigint
  readonly fraction: string
}

export interface Bound {
  readonly value: Decimal
  readonly isExclusive: boolean
}

export const decimal = (text: string): Decimal => {
  const [, sign = "", whole = "0", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const shift = Number(exponent)
  const digits = whole + fraction
  const point = whole.length + shift
  const padded = point > 0 ? digits.padEnd(point, "0") : "0".repeat(1 - point) + digits
  const at = Math.max(point, 1)
  const behind = padded.slice(at).replace(/(?<!0)0+$/, "")
  const value = BigInt(padded.slice(0, at))
  return { isNegative: sign === "-" && (value > 0n || behind !== ""), whole: value, fraction: behind }
}

/** Max digits before the point: grammars of bounds are nested once per digit. */
export const maxDigits = 60

/** True for a number of at most 60 digits before the point, written in fewer than 400 characters. */
export const isBound = (text: string): boolean =>
  text.length < 400 && Number.isFinite(Number(text)) && Math.abs(Number(text)) < 10 ** maxDigits

const digit = "[0-9]"
const digits = (from: number, to: number): Ebnf.Expression => (from === to ? String(from) : `[${from}-${to}]`)
const one = (from: number, to: number): Ebnf.Expression => (from === to ? Ebnf.literal(String(from)) : digits(from, to))

/** Integers of one length from `low` to `high`, digit by digit. */
const sameLength = (low: string, high: string): Ebnf.Expression => {
  const rest = low.length - 1
  if (/^0*$/.test(low) && /^9*$/.test(high)) return Ebnf.repeat(digit, low.length, low.length)
  if (rest === 0) return one(Number(low), Number(high))
  const [first, last] = [Number(low[0]), Number(high[0])]
  if (first === last) return Ebnf.sequence(one(first, first), sameLength(low.slice(1), high.slice(1)))
  const isLowFull = /^0*$/.test(low.slice(1))
  const isHighFull = /^9*$/.test(high.slice(1))
  const from = isLowFull ? first : first + 1
  const to = isHighFull ? last : last - 1
  return Ebnf.choice([
    isLowFull ? undefined : Ebnf.sequence(one(first, first), sameLength(low.slice(1), "9".repeat(rest))),
    from > to ? undefined : Ebnf.sequence(one(from, to), Ebnf.repeat(digit, rest, rest)),
    isHighFull ? undefined : Ebnf.sequence(one(last, last), sameLength("0".repeat(rest), high.slice(1)))
  ])!
}

/** Integers from `low` to `high`, neither negative, without leading zeros; `high` undefined: unbounded. */
const wholes = (low: bigint, high: bigint | undefined): Ebnf.Expression | undefined => {
  if (high !== undefined && low > high) return undefined
  const [shortest, longest] = [String(low).length, high === undefined ? String(low).length : String(high).length]
  const parts: Array<Ebnf.Expression | undefined> = []
  for (let length = shortest; length <= longest; length++) {
    const from = length === shortest ? low : 10n ** BigInt(length - 1)
    const to = high !== undefined && length === longest ? high : 10n ** BigInt(length) - 1n
    parts.push(sameLength(String(from), String(to)))
  }
  if (high === undefined) parts.push(Ebnf.sequence("[1-9]", Ebnf.repeat(digit, longest)))
  return Ebnf.choice(parts)
}

const maxFractionDigits = 10

const point = Ebnf.literal(".")
const anyFraction = Ebnf.optional(`(${point} ${Ebnf.repeat(digit, 1, maxFractionDigits)})`)
const tail = (used: number): Ebnf.Expression => Ebnf.repeat(digit, 0, Math.max(1, maxFractionDigits - used))
/** Digits that are not all 0. */
const aboveZero = (used: number): Ebnf.Expression => {
  const left = Math.max(2, maxFractionDigits - used)
  const from = (zeros: number) =>
    Ebnf.sequence(
      zeros === 0 ? Ebnf.empty : Ebnf.literal("0".repeat(zeros)),
      "[1-9]",
      Ebnf.repeat(digit, 0, left - zeros - 1)
    )
  return Ebnf.choice(Array.from({ length: left }, (_, zeros) => from(zeros)))!
}

/** Fractions after an integer part equal to the bound's: not below (or above) the bound. */
const fractionAbove = (fraction: string, isExclusive: boolean): Ebnf.Expression => {
  if (fraction === "" && !isExclusive) return anyFraction
  const parts: Array<Ebnf.Expression> = []
  for (let at = 0; at < fraction.length; at++) {
    const next = Number(fraction[at])
    if (next < 9) parts.push(Ebnf.sequence(Ebnf.literal(`.${fraction.slice(0, at)}`), one(next + 1, 9), tail(at + 1)))
  }
  const same = Ebnf.literal(`.${fraction}`)
  parts.push(Ebnf.sequence(same, isExclusive ? aboveZero(fraction.length) : tail(fraction.length)))
  return Ebnf.choice(parts)!
}

const fractionBelow = (fraction: string, isExclusive: boolean): Ebnf.Expression | undefined => {
  const zeros = Ebnf.repeat(Ebnf.literal("0"), 1, maxFractionDigits)
  if (fraction === "") return isExclusive ? undefined : Ebnf.optional(`(${point} ${zeros})`)
  const parts: Array<Ebnf.Expression> = [Ebnf.empty]
  for (let at = 0; at < fraction.length; at++) {
    const next = Number(fraction[at])
    const before = Ebnf.literal(`.${fraction.slice(0, at)}`)
    if (next > 0) parts.push(Ebnf.sequence(before, one(0, next - 1), tail(at + 1)))
    if (at > 0) parts.push(before)
  }
  if (!isExclusive) parts.push(Ebnf.sequence(Ebnf.literal(`.${fraction}`), Ebnf.repeat(Ebnf.literal("0"), 0, 3)))
  return Ebnf.choice(parts)
}

/** Fractions between two bounds with the same integer part. */
const fractionBetween = (low: Bound, high: Bound): Ebnf.Expression | undefined => {
  const [a, b] = [low.value.fraction, high.value.fraction]
  if (a === b)
    return low.isExclusive || high.isExclusive ? undefined : a === "" ? fractionBelow("", false) : Ebnf.literal(`.${a}`)
  const length = Math.max(a.length, b.length)
  const [from, to] = [a.padEnd(length, "0"), b.padEnd(length, "0")]
  if (from > to) return undefined
  // Digit by digit down to the first that differs.
  let at = 0
  while (from[at] === to[at]) at++
  const shared = Ebnf.literal(`.${from.slice(0, at)}`)
  const [x, y] = [Number(from[at]), Number(to[at])]
  const rest = (digits: string) => digits.slice(at + 1).replace(/(?<!0)0+$/, "")
  const above = (rest: string): Ebnf.Expression | undefined => {
    const parts: Array<Ebnf.Expression> = []
    for (let i = 0; i < rest.length; i++) {
      const next = Number(rest[i])
      if (next < 9)
        parts.push(
          Ebnf.sequence(i === 0 ? Ebnf.empty : Ebnf.literal(rest.slice(0, i)), one(next + 1, 9), tail(at + i + 2))
        )
    }
    const same = rest === "" ? Ebnf.empty : Ebnf.literal(rest)
    parts.push(Ebnf.sequence(same, low.isExclusive ? aboveZero(at + rest.length + 1) : tail(at + rest.length + 1)))
    return Ebnf.choice(parts)
  }
  const below = (rest: string): Ebnf.Expression | undefined => {
    if (rest === "") return high.isExclusive ? undefined : Ebnf.repeat(Ebnf.literal("0"), 0, 3)
    const parts: Array<Ebnf.Expression> = [Ebnf.empty]
    for (let i = 0; i < rest.length; i++) {
      const next = Number(rest[i])
      const before = i === 0 ? Ebnf.empty : Ebnf.literal(rest.slice(0, i))
      if (next > 0) parts.push(Ebnf.sequence(before, one(0, next - 1), tail(at + i + 2)))
      if (i > 0) parts.push(before)
    }
    if (!high.isExclusive) parts.push(Ebnf.sequence(Ebnf.literal(rest), Ebnf.repeat(Ebnf.literal("0"), 0, 3)))
    return Ebnf.choice(parts)
  }
  const lower = above(rest(from))
  const upper = below(rest(to))
  return Ebnf.choice([
    low.isExclusive ? undefined : a === "" ? Ebnf.empty : Ebnf.literal(`.${a}`),
    lower && Ebnf.sequence(shared, one(x, x), lower),
    x + 1 <= y - 1 ? Ebnf.sequence(shared, one(x + 1, y - 1), tail(at + 1)) : undefined,
    upper && Ebnf.sequence(shared, one(y, y), upper)
  ])
}

const magnitudes = (low: Bound, high: Bound | undefined): Ebnf.Expression | undefined => {
  const from = low.value.whole
  if (high === undefined) {
    const more = wholes(from + 1n, undefined)
    return Ebnf.choice([
      Ebnf.sequence(Ebnf.literal(String(from)), fractionAbove(low.value.fraction, low.isExclusive)),
      more && Ebnf.sequence(more, anyFraction)
    ])
  }
  const to = high.value.whole
  if (from > to) return undefined
  if (from === to) {
    const between = fractionBetween(low, high)
    return between && Ebnf.sequence(Ebnf.literal(String(from)), between)
  }
  const inner = wholes(from + 1n, to - 1n)
  const last = fractionBelow(high.value.fraction, high.isExclusive)
  return Ebnf.choice([
    Ebnf.sequence(Ebnf.literal(String(from)), fractionAbove(low.value.fraction, low.isExclusive)),
    inner && Ebnf.sequence(inner, anyFraction),
    last && Ebnf.sequence(Ebnf.literal(String(to)), last)
  ])
}

const zero = (isExclusive: boolean): Bound => ({ value: decimal("0"), isExclusive })
const positive = ({ isExclusive, value }: Bound): Bound => ({ isExclusive, value: { ...value, isNegative: false } })
const minus = Ebnf.literal("-")

/** Numbers between the bounds; undefined if none. */
export const between = (low: Bound | undefined, high: Bound | undefined): Ebnf.Expression | undefined => {
  if (low === undefined && high === undefined) {
    const exponent = Ebnf.optional(`([eE] ${Ebnf.optional("[\\u002b\\u002d]")} ${Ebnf.repeat(digit, 1, 2)})`)
    const fraction = Ebnf.optional(`(${point} ${Ebnf.repeat(digit, 1)})`)
    return Ebnf.sequence(Ebnf.optional(minus), `("0" | [1-9] ${digit}*)`, fraction, exponent)
  }
  const above =
    high?.value.isNegative === true
      ? undefined
      : magnitudes(low === undefined || low.value.isNegative ? zero(false) : low, high)
  // Negative numbers: their magnitudes, with the bounds swapped.
  const isBelow = low === undefined || low.value.isNegative
  const below = isBelow
    ? magnitudes(high?.value.isNegative === true ? positive(high) : zero(true), low && positive(low))
    : undefined
  return Ebnf.choice([above, below && Ebnf.sequence(minus, below)])
}

const ceiling = ({ isExclusive, value }: Bound): bigint => {
  const whole = value.isNegative ? -value.whole : value.whole
  if (value.fraction === "") return isExclusive ? whole + 1n : whole
  return value.isNegative ? whole : whole + 1n
}

const flooring = ({ isExclusive, value }: Bound): bigint => {
  const whole = value.isNegative ? -value.whole : value.whole
  if (value.fraction === "") return isExclusive ? whole - 1n : whole
  return value.isNegative ? whole - 1n : whole
}

/** Integers between the bounds; undefined if none. */
export const integers = (low: Bound | undefined, high: Bound | undefined): Ebnf.Expression | undefined => {
  const from = low && ceiling(low)
  const to = high && flooring(high)
  if (from !== undefined && to !== undefined && from > to) return undefined
  const above = to !== undefined && to < 0n ? undefined : wholes(from !== undefined && from > 0n ? from : 0n, to)
  const below =
    from !== undefined && from >= 0n
      ? undefined
      : wholes(to !== undefined && to < 0n ? -to : 1n, from === undefined ? undefined : -from)
  return Ebnf.choice([above, below && Ebnf.sequence(minus, below)])
}
