/**
 * The value of an expression at a point, and equality of expressions by their values at many points.
 *
 * Bounded: at most `maxOperations` operations on numbers of bounded size per evaluation; whatever is larger, undefined or unknown is
 * `undefined` ("undecided"). Equality at random rational points is exact for polynomials and rational functions
 * (Schwartz-Zippel), and holds to 72 digits otherwise. Points depend on the symbols' names alone, so verdicts are reproducible.
 */
import * as Exact from "./Exact.ts"
import { symbols, type Expression, type Operator } from "./Expression.ts"
import * as Fixed from "./Fixed.ts"
import * as Value from "./Value.ts"
import type { Maybe } from "./Value.ts"

const maxOperations = 2_000
const maxFactorial = 300n
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

const withReal = (a: Value.Value, f: (x: Fixed.Fixed) => Maybe<Value.Value>): Maybe<Value.Value> => {
  const real = Value.toReal(a)
  return real === undefined ? undefined : f(real)
}

const one = Value.exact(Exact.one)
const minusOne = Value.negate(one)

/** Both of sin and cos, or undecided beyond a million turns. */
const sinCos = (a: Value.Value) =>
  withReal(a, (x) => {
    const [sin, cos] = Fixed.sinCos(x)
    return x >> 20n > Fixed.one || -x >> 20n > Fixed.one ? undefined : { _tag: "Approximate", re: sin, im: cos }
  })

const sin = (a: Value.Value) => {
  const both = sinCos(a)
  return both?._tag === "Approximate" ? Value.approximate(both.re) : undefined
}

const cos = (a: Value.Value) => {
  const both = sinCos(a)
  return both?._tag === "Approximate" ? Value.approximate(both.im) : undefined
}

const then = <A, B>(a: Maybe<A>, f: (a: A) => Maybe<B>): Maybe<B> => (a === undefined ? undefined : f(a))

const quotient = (a: Maybe<Value.Value>, b: Maybe<Value.Value>) => then(a, (x) => then(b, (y) => Value.divide(x, y)))

/** asin x = atan(x / sqrt(1 - x²)) for |x| < 1. */
const arcsin = (a: Value.Value) =>
  withReal(a, (x) => {
    const rest = Fixed.one - Fixed.multiply(x, x)
    if (rest < 0n) return undefined
    return Value.approximate(Fixed.atan2(x, Fixed.root(rest, 2)))
  })

/** (e^x + sign · e^-x) / 2. */
const hyperbolic = (a: Value.Value, sign: 1 | -1) =>
  then(Value.exp(a), (up) =>
    then(Value.exp(Value.negate(a)), (down) =>
      then(Value.add(up, sign === 1 ? down : Value.negate(down)), (sum) =>
        Value.divide(sum, Value.exact(Exact.fromInteger(2)))
      )
    )
  )

const floor = (a: Value.Value): Maybe<Value.Value> => {
  const rational = Value.toRational(a)
  if (rational !== undefined) return Value.exact(Exact.fromInteger(Exact.floor(rational)))
  return withReal(a, (x) => {
    const nearest = (x + Fixed.one / 2n) >> Fixed.fractionBits
    const distance = x - (nearest << Fixed.fractionBits)
    const isUnclear = distance >> 84n === 0n || distance >> 84n === -1n
    return isUnclear ? undefined : Value.exact(Exact.fromInteger(x >> Fixed.fractionBits))
  })
}

const factorial = (a: Value.Value): Maybe<Value.Value> => {
  const n = Value.toRational(a)
  if (n === undefined || !Exact.isInteger(n) || n.numerator < 0n || n.numerator > maxFactorial) return undefined
  let product = 1n
  for (let i = 2n; i <= n.numerator; i++) product *= i
  return then(Exact.make(product), Value.exact)
}

const binomial = (a: Value.Value, b: Value.Value): Maybe<Value.Value> => {
  const [n, k] = [Value.toRational(a), Value.toRational(b)]
  if (n === undefined || k === undefined || !Exact.isInteger(n) || !Exact.isInteger(k)) return undefined
  if (n.numerator < 0n || k.numerator < 0n || n.numerator > 4n * maxFactorial) return undefined
  if (k.numerator > n.numerator) return Value.exact(Exact.zero)
  const terms = k.numerator * 2n > n.numerator ? n.numerator - k.numerator : k.numerator
  let result = 1n
  for (let i = 1n; i <= terms; i++) result = (result * (n.numerator - terms + i)) / i
  return then(Exact.make(result), Value.exact)
}

const fold = (
  args: ReadonlyArray<Value.Value>,
  operator: (a: Value.Value, b: Value.Value) => Maybe<Value.Value>
): Maybe<Value.Value> => {
  let result: Maybe<Value.Value> = args[0]
  for (const argument of args.slice(1)) result = then(result, (a) => operator(a, argument))
  return result
}

const larger = (a: Value.Value, b: Value.Value) =>
  then(Value.subtract(a, b), (difference) => then(Value.sign(difference), (sign) => (sign >= 0 ? a : b)))

const absoluteValue = (a: Value.Value): Maybe<Value.Value> => {
  const sign = Value.sign(a)
  if (sign !== undefined) return sign < 0 ? Value.negate(a) : a
  const conjugate: Value.Value = a._tag === "Exact" ? { ...a, im: Exact.negate(a.im) } : { ...a, im: -a.im }
  return then(Value.multiply(a, conjugate), (square) => Value.root(square, 2))
}

const rootOf = (a: Value.Value, degree: Value.Value): Maybe<Value.Value> => {
  const n = Value.toRational(degree)
  if (n !== undefined && Exact.isInteger(n) && n.numerator >= 2n && n.numerator <= 64n) {
    return Value.root(a, Number(n.numerator))
  }
  return then(Value.divide(one, degree), (exponent) => Value.power(a, exponent))
}

const ten = Value.exact(Exact.fromInteger(10))

/** One rule per operator. The reader has checked the number of arguments. */
const rules: Record<Operator, (a: Value.Value, b: Value.Value, all: ReadonlyArray<Value.Value>) => Maybe<Value.Value>> =
  {
    Add: (_a, _b, all) => fold(all, Value.add),
    Subtract: Value.subtract,
    Negate: Value.negate,
    Multiply: (_a, _b, all) => fold(all, Value.multiply),
    Divide: Value.divide,
    Power: Value.power,
    Sqrt: (a) => Value.root(a, 2),
    Root: rootOf,
    Abs: absoluteValue,
    Exp: Value.exp,
    Ln: Value.ln,
    Log: (a, b, all) => quotient(Value.ln(a), Value.ln(all.length === 2 ? b : ten)),
    Sin: sin,
    Cos: cos,
    Tan: (a) => quotient(sin(a), cos(a)),
    Cot: (a) => quotient(cos(a), sin(a)),
    Sec: (a) => quotient(one, cos(a)),
    Csc: (a) => quotient(one, sin(a)),
    Arcsin: arcsin,
    Arccos: (a) =>
      then(arcsin(a), (angle) => then(Value.approximate(Fixed.pi / 2n), (right) => Value.subtract(right, angle))),
    Arctan: (a) => withReal(a, (x) => Value.approximate(Fixed.atan(x))),
    Sinh: (a) => hyperbolic(a, -1),
    Cosh: (a) => hyperbolic(a, 1),
    Tanh: (a) => quotient(hyperbolic(a, -1), hyperbolic(a, 1)),
    Floor: floor,
    Ceil: (a) => then(floor(Value.negate(a)), Value.negate),
    Factorial: factorial,
    Binomial: binomial,
    Max: (_a, _b, all) => fold(all, larger),
    Min: (_a, _b, all) => then(fold(all.map(Value.negate), larger), Value.negate)
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
    then(evaluateAt(node.from, point), Value.toRational),
    then(evaluateAt(node.to, point), Value.toRational)
  ]
  if (from === undefined || to === undefined || !Exact.isInteger(from) || !Exact.isInteger(to)) return undefined
  if (to.numerator - from.numerator > maxSeriesTerms) return undefined
  let result: Maybe<Value.Value> = Value.exact(node.kind === "Sum" ? Exact.zero : Exact.one)
  for (let i = from.numerator; i <= to.numerator && result !== undefined; i++) {
    const bound = new Map(point.bound).set(node.index, Value.exact(Exact.fromInteger(i)))
    const term = evaluateAt(node.body, { ...point, bound })
    result = then(result, (a) => then(term, (b) => (node.kind === "Sum" ? Value.add(a, b) : Value.multiply(a, b))))
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
      return node.name === "Pi" ? Value.approximate(Fixed.pi) : Value.exp(one)
    case "Infinity":
      return undefined
    case "Symbol":
      return point.bound.get(node.name) ?? sample(node.name, point)
    case "Apply": {
      const args = evaluateAll(node.args, point)
      if (args === undefined || args[0] === undefined) return undefined
      return rules[node.operator](args[0], args[1] ?? minusOne, args)
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
  then(constant(a), (x) => then(constant(b), (y) => then(Value.subtract(x, y), Value.sign)))
