/**
 * Evaluates an expression at a point, and decides equality of expressions by their values at many points.
 *
 * Bounded: at most `maxOperations` operations on numbers of bounded size per evaluation; anything larger, undefined or
 * unknown is `undefined` ("undecided"). Equality at random rational points is exact for polynomials and rational
 * functions (Schwartz-Zippel), and to 87 digits otherwise. Points depend on the symbols' names only, so verdicts are
 * reproducible.
 */
import * as Exact from "./expression/Exact.ts"
import { symbols, type Expression, type Operator } from "./expression/Expression.ts"
import * as Fixed from "./Fixed.ts"
import * as Operators from "./Operators.ts"
import { label, type Point, sample } from "./SymbolValues.ts"
import * as Value from "./Value.ts"
import type { Maybe } from "./Value.ts"

const maxOperations = 2_000
const maxSeriesTerms = 300n

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

/** True if the expression has neither free symbols nor unknown functions. */
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

const edged: ReadonlySet<Operator> = new Set(["Abs", "Max", "Min", "Floor", "Ceil", "Sqrt", "Root"])

/** True if an expression is piecewise: it may be different between the points that are tried and elsewhere. */
const hasEdges = (expression: Expression): boolean =>
  some(
    expression,
    (node) =>
      node._tag === "Apply" &&
      symbols(node).size > 0 &&
      (edged.has(node.operator) ||
        (node.operator === "Power" &&
          node.args.slice(1).some((exponent) => isConstant(exponent) && !isWhole(exponent))))
  )

const isWhole = (expression: Expression): boolean => {
  const value = Operators.andThen(constant(expression), Value.toRational)
  return value !== undefined && Exact.isInteger(value)
}

const bitsOf = (value: Value.Value | undefined): number => {
  const rational = value === undefined ? undefined : Value.toRational(value)
  return rational === undefined
    ? 0
    : Math.max(...[rational.numerator, rational.denominator].map((n) => n.toString(2).length))
}

/** Bits of the largest number or power in an expression: edges are not much farther away, nor nearer to zero. */
const longest = (expression: Expression): number => {
  switch (expression._tag) {
    case "Number":
      return bitsOf(Value.exact(expression.value))
    case "Apply":
      return Math.max(
        expression.operator === "Power" ? bitsOf(constant(expression)) : 0,
        ...expression.args.map(longest)
      )
    case "Call":
      return Math.max(0, ...expression.args.map(longest))
    case "Series":
      return Math.max(longest(expression.body), longest(expression.from), longest(expression.to))
    default:
      return 0
  }
}

/** Points on both sides of all edges. */
function* farPoints(a: Expression, b: Expression): Generator<Point> {
  const reach = Math.max(longest(a), longest(b)) + 8
  for (const [i, shift] of [10, 10, -10, -10, reach, reach, -reach, -reach].entries())
    yield { round: rounds + i, bound: new Map(), isWhole: false, shift, budget: { operations: 0 } }
}

/**
 * True if two expressions with edges also agree far out and near zero. One with edges and one without are not compared.
 */
const agreeAtEdges = (a: Expression, b: Expression, agree: (x: Value.Value, y: Value.Value) => boolean): boolean => {
  const [x, y] = [hasEdges(a), hasEdges(b)]
  if (x !== y) return false
  if (!x || needsWholeNumbers(a) || needsWholeNumbers(b)) return true
  for (const point of farPoints(a, b)) {
    const left = evaluateAt(a, point)
    const right = left === undefined ? undefined : evaluateAt(b, { ...point, budget: { operations: 0 } })
    if (left !== undefined && right !== undefined && !agree(left, right)) return false
  }
  return true
}

/** Values of both expressions at points where both have one, lazily. */
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

/** Total bits of the numbers in an expression. */
const digits = (expression: Expression): number => {
  switch (expression._tag) {
    case "Number":
      return [expression.value.numerator, expression.value.denominator].reduce(
        (sum, n) => sum + n.toString(2).length,
        0
      )
    case "Apply":
    case "Call":
      return expression.args.reduce((sum, argument) => sum + digits(argument), 0)
    case "Series":
      return [expression.body, expression.from, expression.to].reduce((sum, part) => sum + digits(part), 0)
    default:
      return 0
  }
}

/** With more digits than are compared, numbers can be chosen to make an expression arbitrarily close to another. */
const mostDigits = 250

/** True if two approximate constants have so few digits that agreement is not coincidental. */
const isTelling = (a: Expression, b: Expression): boolean =>
  !(isConstant(a) && isConstant(b)) || (digits(a) <= mostDigits && digits(b) <= mostDigits)

const enough = (a: Expression, b: Expression) => (isConstant(a) && isConstant(b) ? 1 : enoughRounds)

/** True if two expressions agree wherever they were tried; false if undecided. */
export const equivalent = (a: Expression, b: Expression): boolean => {
  if (a._tag === "Infinity" || b._tag === "Infinity") {
    return a._tag === "Infinity" && b._tag === "Infinity" && a.isNegative === b.isNegative
  }
  let agreements = 0
  for (const [x, y] of pairs(a, b)) {
    if (!Value.equals(x, y)) return false
    if ((x._tag === "Approximate" || y._tag === "Approximate") && !isTelling(a, b)) return false
    agreements += 1
  }
  return agreements >= enough(a, b) && agreeAtEdges(a, b, Value.equals)
}

/**
 * True if `a = k · b` for one nonzero constant k (above zero if `isPositive`): then `a = 0` and `b = 0` are equivalent,
 * and so are `a < 0` and `b < 0`. False if undecided; two constants are never proportional.
 */
export const proportional = (a: Expression, b: Expression, isPositive: boolean): boolean => {
  if (isConstant(a) || isConstant(b)) return false
  const all = [...pairs(a, b)]
  const reference = all.find(([x, y]) => !Value.isZero(x) && !Value.isZero(y))
  if (all.length < enough(a, b) || reference === undefined) return false
  const ratio = Value.divide(reference[0], reference[1])
  if (ratio === undefined || (isPositive && Value.sign(ratio) !== 1)) return false
  const isScaled = (x: Value.Value, y: Value.Value) => {
    const scaled = Value.multiply(ratio, y)
    return scaled !== undefined && Value.equals(x, scaled)
  }
  return all.every(([x, y]) => isScaled(x, y)) && agreeAtEdges(a, b, isScaled)
}

/** True if a constant is zero; false if undecided. */
export const isZero = (expression: Expression): boolean => {
  const value = constant(expression)
  return value !== undefined && Value.isZero(value)
}

/** The sign of `a - b`; undefined if undecided. */
export const order = (a: Expression, b: Expression): Maybe<number> =>
  Operators.andThen(constant(a), (x) =>
    Operators.andThen(constant(b), (y) => Operators.andThen(Value.subtract(x, y), Value.sign))
  )
