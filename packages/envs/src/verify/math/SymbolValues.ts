/**
 * Provides values of symbols at points: pseudo-random, and dependent on the symbols' names only, so that verdicts are
 * reproducible.
 */
import * as Exact from "./expression/Exact.ts"
import * as Value from "./Value.ts"

/** A point at which expressions are evaluated. */
export interface Point {
  readonly round: number
  /** Values of series indices, inside their series. */
  readonly bound: ReadonlyMap<string, Value.Value>
  /** Symbols take integers, for expressions that are only defined there. */
  readonly isWhole: boolean
  /** Scales symbols by this many binary places, for expressions with edges far away; signs alternate. */
  readonly shift?: number
  readonly budget: { operations: number }
}

/** 64 pseudo-random bits that only depend on `text` (FNV-1a with a final mix). */
const hash = (text: string): bigint => {
  let state = 0xcbf29ce484222325n
  for (let i = 0; i < text.length; i++) {
    state = BigInt.asUintN(64, (state ^ BigInt(text.charCodeAt(i))) * 0x100000001b3n)
  }
  state ^= state >> 32n
  state = BigInt.asUintN(64, state * 0xd6e8feb86659fd93n)
  return state ^ (state >> 29n)
}

/**
 * A number of magnitude 1/4 to 17/4 with 12 random bits, of either sign; or alternately an integer from 1 to 8 or from
 * 4 to 35.
 */
export const sample = (name: string, point: Point): Value.Value => {
  const bits = hash(`${point.round}:${name}`)
  if (point.isWhole) return Value.exact(Exact.fromInteger(point.round % 2 === 0 ? 4n + (bits & 31n) : 1n + (bits & 7n)))
  const size = (1n << 8n) + (bits & 0xfffn)
  if (point.shift !== undefined) {
    const signed = ((hash(name) >> 20n) + BigInt(point.round)) % 2n === 0n ? size : -size
    const [above, below] = point.shift < 0 ? [0, -point.shift] : [point.shift, 0]
    return Value.exact(Exact.make(signed << BigInt(above), 1n << BigInt(10 + below)) ?? Exact.one)
  }
  return Value.exact(Exact.make((bits >> 40n) % 2n === 0n ? size : -size, 1n << 10n) ?? Exact.one)
}

/** A stable name for a value: approximate ones are rounded to 150 binary places. */
export const label = (a: Value.Value): string =>
  a._tag === "Exact"
    ? [a.re.numerator, a.re.denominator, a.im.numerator, a.im.denominator].join("/")
    : [a.re, a.im].map((part) => (part + (1n << 233n)) >> 234n).join("~")
