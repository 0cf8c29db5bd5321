/**
 * Applies operators to values: exactly if the values are exact, to 87 digits otherwise.
 *
 * Bounded: anything too large, undefined or indistinguishable from a jump is `undefined` ("undecided"). The number of
 * arguments was checked by the reader of the expression.
 */
import * as Exact from "./expression/Exact.ts"
import type { Operator } from "./expression/Expression.ts"
import * as Fixed from "./Fixed.ts"
import * as Value from "./Value.ts"
import type { Maybe } from "./Value.ts"

const maxFactorial = 300n

/** Applies `f` to a decided value. */
export const andThen = <A, B>(a: Maybe<A>, f: (a: A) => Maybe<B>): Maybe<B> => (a === undefined ? undefined : f(a))

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

const quotient = (a: Maybe<Value.Value>, b: Maybe<Value.Value>) =>
  andThen(a, (x) => andThen(b, (y) => Value.divide(x, y)))

/** asin x = atan(x / sqrt(1 - x²)) for |x| < 1. */
const arcsin = (a: Value.Value) =>
  withReal(a, (x) => {
    const rest = Fixed.one - Fixed.multiply(x, x)
    if (rest < 0n) return undefined
    return Value.approximate(Fixed.atan2(x, Fixed.root(rest, 2)))
  })

/** (e^x + sign · e^-x) / 2. */
const hyperbolic = (a: Value.Value, sign: 1 | -1) =>
  andThen(Value.exp(a), (up) =>
    andThen(Value.exp(Value.negate(a)), (down) =>
      andThen(Value.add(up, sign === 1 ? down : Value.negate(down)), (sum) =>
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
  return andThen(Exact.make(product), Value.exact)
}

const binomial = (a: Value.Value, b: Value.Value): Maybe<Value.Value> => {
  const [n, k] = [Value.toRational(a), Value.toRational(b)]
  if (n === undefined || k === undefined || !Exact.isInteger(n) || !Exact.isInteger(k)) return undefined
  if (n.numerator < 0n || k.numerator < 0n || n.numerator > 4n * maxFactorial) return undefined
  if (k.numerator > n.numerator) return Value.exact(Exact.zero)
  const terms = k.numerator * 2n > n.numerator ? n.numerator - k.numerator : k.numerator
  let result = 1n
  for (let i = 1n; i <= terms; i++) result = (result * (n.numerator - terms + i)) / i
  return andThen(Exact.make(result), Value.exact)
}

const fold = (
  args: ReadonlyArray<Value.Value>,
  operator: (a: Value.Value, b: Value.Value) => Maybe<Value.Value>
): Maybe<Value.Value> => {
  let result: Maybe<Value.Value> = args[0]
  for (const argument of args.slice(1)) result = andThen(result, (a) => operator(a, argument))
  return result
}

const larger = (a: Value.Value, b: Value.Value) =>
  andThen(Value.subtract(a, b), (difference) => andThen(Value.sign(difference), (sign) => (sign >= 0 ? a : b)))

const absoluteValue = (a: Value.Value): Maybe<Value.Value> => {
  const sign = Value.sign(a)
  if (sign !== undefined) return sign < 0 ? Value.negate(a) : a
  const conjugate: Value.Value = a._tag === "Exact" ? { ...a, im: Exact.negate(a.im) } : { ...a, im: -a.im }
  return andThen(Value.multiply(a, conjugate), (square) => Value.root(square, 2))
}

const rootOf = (a: Value.Value, degree: Value.Value): Maybe<Value.Value> => {
  const n = Value.toRational(degree)
  if (n !== undefined && Exact.isInteger(n) && n.numerator >= 2n && n.numerator <= 64n) {
    return Value.root(a, Number(n.numerator))
  }
  return andThen(Value.divide(one, degree), (exponent) => Value.power(a, exponent))
}

const ten = Value.exact(Exact.fromInteger(10))

/** One rule per operator; `b` is -1 for a single argument. */
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
      andThen(arcsin(a), (angle) => andThen(Value.approximate(Fixed.pi / 2n), (right) => Value.subtract(right, angle))),
    Arctan: (a) => withReal(a, (x) => Value.approximate(Fixed.atan(x))),
    Sinh: (a) => hyperbolic(a, -1),
    Cosh: (a) => hyperbolic(a, 1),
    Tanh: (a) => quotient(hyperbolic(a, -1), hyperbolic(a, 1)),
    Floor: floor,
    Ceil: (a) => andThen(floor(Value.negate(a)), Value.negate),
    Factorial: factorial,
    Binomial: binomial,
    Max: (_a, _b, all) => fold(all, larger),
    Min: (_a, _b, all) => andThen(fold(all.map(Value.negate), larger), Value.negate)
  }

export const apply = (
  operator: Operator,
  all: readonly [Value.Value, ...ReadonlyArray<Value.Value>]
): Maybe<Value.Value> => rules[operator](all[0], all[1] ?? minusOne, all)
