/**
 * The value of an expression at a point, and equality of expressions by their values at many points.
 *
 * Bounded: at most `maxOperations` operations on numbers of bounded size per evaluation; whatever is larger, undefined or unknown is
 * `undefined` ("undecided"). Equality at random rational points is exact for polynomials and rational functions
 * (Schwartz-Zippel), and holds to 72 digits otherwise. Points depend on the symbols' names alone, so verdicts are reproducible.
 */
import * as Exact from "./Exact.ts"
import { symbols, type Expression } from "./Expression.ts"
import * as Fixed from "./Fixed.ts"
import * as Operators from "./Operators.ts"
import * as Value from "./Value.ts"
import type { Maybe } from "./Value.ts"

const maxOperations = 2_000
const maxSeriesTerms = 300n

interface Point {
  readonly round: number
  /** Values of series indices, inside their series. */
  readonly bound: ReadonlyMap<string, Value.Value>
  /** Symbols take whole numbers, for expressions that mean something only there. */
  readonly isWhole: boolean
  readonly budget: { operations: number }
}

/** 64 bits that look random but depend only on `text` (FNV-1a with a final mix). */
const hash = (text: string): bigint => {
  let state = 0xcbf29ce484222325n
  for (let i = 0; i < text.length; i++) {
    state = BigInt.asUintN(64, (state ^ BigInt(text.charCodeAt(i))) * 0x100000001b3n)
  }
  state ^= state >> 32n
  state = BigInt.asUintN(64, state * 0xd6e8feb86659fd93n)
  return state ^ (state >> 29n)
}

/** A number of magnitude 1/4 to 17/4 with 12 random bits, of either sign; or a whole number from 4 to 35. */
const sample = (name: string, point: Point): Value.Value => {
  const bits = hash(`${point.round}:${name}`)
  if (point.isWhole) return Value.exact(Exact.fromInteger(4n + (bits & 31n)))
  const size = (1n << 8n) + (bits & 0xfffn)
  return Value.exact(Exact.make((bits >> 40n) % 2n === 0n ? size : -size, 1n << 10n) ?? Exact.one)
}

/** A stable name for a value: approximate ones are rounded to 150 binary places. */
const label = (a: Value.Value): string =>
  a._tag === "Exact"
    ? [a.re.numerator, a.re.denominator, a.im.numerator, a.im.denominator].join("/")
    : [a.re, a.im].map((part) => (part + (1n << 233n)) >> 234n).join("~")

const evaluateAll = (args: ReadonlyArray<Expression>, point: Point): Maybe<ReadonlyArray<Value.Value>> => {
  const values: Array<Value.Value> = []
  for (const argument of args) {
    const value = evaluateAt(argument, point)
    if (value === undefined) return undefined
    values.push(value)
  }
  return values
}

const series = (node: Extract<Expression, { _tag: "Series" }>, point: Point): Maybe<Value.Value> => {
  const [from, to] = [
    Operators.andThen(evaluateAt(node.from, point), Value.toRational),
    Operators.andThen(evaluateAt(node.to, point), Value.toRational)
  ]
  if (from === undefined || to === undefined || !Exact.isInteger(from) || !Exact.isInteger(to)) return undefined
  if (to.numerator - from.numerator > maxSeriesTerms) return undefined
  let result: Maybe<Value.Value> = Value.exact(node.kind === "Sum" ? Exact.zero : Exact.one)
  for (let i = from.numerator; i <= to.numerator && result !== undefined; i++) {
    const bound = new Map(point.bound).set(node.index, Value.exact(Exact.fromInteger(i)))
    const term = evaluateAt(node.body, { ...point, bound })
    result = Operators.andThen(result, (a) =>
      Operators.andThen(term, (b) => (node.kind === "Sum" ? Value.add(a, b) : Value.multiply(a, b)))
    )
  }
  return result
}

const evaluateAt = (node: Expression, point: Point): Maybe<Value.Value> => {
  if (++point.budget.operations > maxOperations) return undefined
  switch (node._tag) {
    case "Number":
      return Value.exact(node.value)
    case "Constant":
      if (node.name === "I") return Value.exact(Exact.zero, Exact.one)
      return node.name === "Pi" ? Value.approximate(Fixed.pi) : Value.exp(Value.exact(Exact.one))
    case "Infinity":
      return undefined
    case "Symbol":
      return point.bound.get(node.name) ?? sample(node.name, point)
    case "Apply": {
      const args = evaluateAll(node.args, point)
      if (args === undefined || args[0] === undefined) return undefined
      return Operators.apply(node.operator, [args[0], ...args.slice(1)])
    }
    case "Call": {
      const args = evaluateAll(node.args, point)
      return args === undefined
        ? undefined
        : sample(`${node.name}(${args.map(label).join(",")})`, { ...point, isWhole: false })
    }
    default:
      return series(node, point)
  }
}

/** The value of an expression without symbols; undecided otherwise. */
export const constant = (expression: Expression): Maybe<Value.Value> =>
  isConstant(expression)
    ? evaluateAt(expression, { round: 0, bound: new Map(), isWhole: false, budget: { operations: 0 } })
    : undefined

const some = (expression: Expression, test: (node: Expression) => boolean): boolean => {
  if (test(expression)) return true
  switch (expression._tag) {
    case "Apply":
    case "Call":
      return expression.args.some((argument) => some(argument, test))
    case "Series":
      return [expression.body, expression.from, expression.to].some((part) => some(part, test))
    default:
      return false
  }
}

/** Whether the expression has neither free symbols nor unknown functions. */
export const isConstant = (expression: Expression): boolean =>
  symbols(expression).size === 0 && !some(expression, (node) => node._tag === "Call")

const needsWholeNumbers = (expression: Expression): boolean =>
  some(
    expression,
    (node) =>
      (node._tag === "Apply" &&
        (node.operator === "Factorial" || node.operator === "Binomial") &&
        symbols(node).size > 0) ||
      (node._tag === "Series" && (symbols(node.from).size > 0 || symbols(node.to).size > 0))
  )

const rounds = 8
const enoughRounds = 4

/** Values of both expressions at points where both have one, point after point. */
function* pairs(a: Expression, b: Expression): Generator<readonly [Value.Value, Value.Value]> {
  const isWhole = needsWholeNumbers(a) || needsWholeNumbers(b)
  const count = isConstant(a) && isConstant(b) ? 1 : rounds
  let undecided = 0
  for (let round = 0; round < count; round++) {
    const point = { round, bound: new Map<string, Value.Value>(), isWhole }
    const x = evaluateAt(a, { ...point, budget: { operations: 0 } })
    const y = x === undefined ? undefined : evaluateAt(b, { ...point, budget: { operations: 0 } })
    if (x !== undefined && y !== undefined) yield [x, y]
    else if (++undecided > rounds - enoughRounds) return
  }
}

const enough = (a: Expression, b: Expression) => (isConstant(a) && isConstant(b) ? 1 : enoughRounds)

/** Whether two expressions agree wherever they were tried; false where that cannot be decided. */
export const equivalent = (a: Expression, b: Expression): boolean => {
  if (a._tag === "Infinity" || b._tag === "Infinity") {
    return a._tag === "Infinity" && b._tag === "Infinity" && a.isNegative === b.isNegative
  }
  let agreements = 0
  for (const [x, y] of pairs(a, b)) {
    if (!Value.equals(x, y)) return false
    agreements += 1
  }
  return agreements >= enough(a, b)
}

/**
 * Whether `a = k · b` for one constant k other than zero (and above zero if `isPositive`): then `a = 0` and `b = 0` say the same, and
 * `a < 0` and `b < 0` do. False where that cannot be decided; two constants are never called proportional.
 */
export const proportional = (a: Expression, b: Expression, isPositive: boolean): boolean => {
  if (isConstant(a) || isConstant(b)) return false
  const found = [...pairs(a, b)]
  const reference = found.find(([x, y]) => !Value.isZero(x) && !Value.isZero(y))
  if (found.length < enough(a, b) || reference === undefined) return false
  const ratio = Value.divide(reference[0], reference[1])
  if (ratio === undefined || (isPositive && Value.sign(ratio) !== 1)) return false
  return found.every(([x, y]) => {
    const scaled = Value.multiply(ratio, y)
    return scaled !== undefined && Value.equals(x, scaled)
  })
}

/** Whether a constant is zero; false where that cannot be decided. */
export const isZero = (expression: Expression): boolean => {
  const value = constant(expression)
  return value !== undefined && Value.isZero(value)
}

/** Negative, zero or positive, as `a - b` is; undefined where that cannot be decided. */
export const order = (a: Expression, b: Expression): Maybe<number> =>
  Operators.andThen(constant(a), (x) =>
    Operators.andThen(constant(b), (y) => Operators.andThen(Value.subtract(x, y), Value.sign))
  )
