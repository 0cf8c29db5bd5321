/**
 * Simplifies formulas roughly as SymPy's `simplify` does: over one denominator, with common factors of terms extracted.
 * Does not expand, and knows no identities of functions.
 */
import * as Exact from "./Exact.ts"
import {
  add,
  coefficient,
  compare,
  exponentOf,
  isNumber,
  isOne,
  keyOf,
  minusOne,
  multiply,
  type Node,
  number,
  power
} from "./FormulaNode.ts"

/** Number of signs, products, quotients, powers and functions, counted like SymPy. */
const operations = (node: Node): number => {
  switch (node._tag) {
    case "Number":
      return (node.value.numerator < 0n ? 1 : 0) + (node.value.denominator === 1n ? 0 : 1)
    case "Pow": {
      const { base, exponent } = node
      const isInverse = isNumber(exponent) && exponent.value.numerator < 0n
      if (isInverse) return 1 + operations(power(base, multiply([minusOne, exponent])))
      return 1 + operations(base) + operations(exponent)
    }
    case "Mul": {
      const under = node.args.filter(
        (arg) => arg._tag === "Pow" && operations(arg.exponent) > 0 && isNegative(arg.exponent)
      )
      const over = node.args.filter((arg) => !under.includes(arg))
      const [first, ...rest] = over
      const factors = first !== undefined && isNumber(first) ? [...parts(first.value), ...rest] : over
      const isQuotient = under.length > 0 || (first !== undefined && isNumber(first) && first.value.denominator !== 1n)
      const count = factors.reduce((sum, factor) => sum + operations(factor), 0)
      const inverses = under.reduce((sum, factor) => sum + operations(factor) - 1, 0)
      return count + inverses + Math.max(0, factors.length - 1) + Math.max(0, under.length - 1) + (isQuotient ? 1 : 0)
    }
    case "Add": {
      const negative = node.args.filter((arg) => coefficient(arg)[0].numerator < 0n).length
      const all = node.args.reduce((sum, arg) => sum + operations(arg), 0)
      return all + node.args.length - 1 - negative + (negative === node.args.length ? 1 : 0)
    }
    case "Function":
      return 1 + node.args.reduce((sum, arg) => sum + operations(arg), 0)
    default:
      return 0
  }
}

/** A numerator as a factor, unless it is 1. */
const parts = ({ numerator }: Exact.Rational): ReadonlyArray<Node> =>
  numerator === 1n ? [] : [number(Exact.fromInteger(numerator))]

const isNegative = (node: Node): boolean => isNumber(node) && node.value.numerator < 0n

const gcd = (a: bigint, b: bigint): bigint => (b === 0n ? (a < 0n ? -a : a) : gcd(b, a % b))

const less = (a: Exact.Rational, b: Exact.Rational): boolean =>
  a.numerator * b.denominator < b.numerator * a.denominator

/** The common factor of all terms of a sum, the number and each base with its min exponent; and the sum without it. */
const commonOf = (terms: ReadonlyArray<Node>) => {
  const read = terms.map((term) => {
    const [factor, rest] = coefficient(term)
    const powers = new Map<string, { readonly base: Node; readonly exponent: Exact.Rational }>()
    for (const one of rest._tag === "Mul" ? rest.args : [rest]) {
      const [base, exponent] = exponentOf(one)
      if (isNumber(exponent)) powers.set(keyOf(base), { base, exponent: exponent.value })
    }
    return { factor, powers }
  })
  const over = read.reduce((all, { factor }) => gcd(all, factor.numerator), 0n)
  const under = read.reduce((all, { factor }) => (all * factor.denominator) / gcd(all, factor.denominator), 1n)
  const content = Exact.make(over, under) ?? Exact.one
  const common: Array<Node> = []
  const bases = new Map(read.flatMap(({ powers }) => [...powers].map(([key, { base }]) => [key, base] as const)))
  for (const [key, base] of bases) {
    if (isOne(base)) continue
    const all = read.map(({ powers }) => powers.get(key)?.exponent ?? Exact.zero)
    const least = all.reduce((lowest, exponent) => (less(exponent, lowest) ? exponent : lowest))
    if (least.numerator !== 0n) common.push(power(base, number(least)))
  }
  const inverse = multiply([number(content), ...common].map((one) => power(one, minusOne)))
  return { content, common, rest: add(terms.map((term) => multiply([term, inverse]))) }
}

/** A product as it is: a number is not distributed over a sum, but a sign is if that is shorter. */
const product = (content: Exact.Rational, factors: ReadonlyArray<Node>): Node => {
  const written = factors.filter((factor) => !isOne(factor))
  if (content.numerator < 0n) {
    const at = written.findIndex((factor) => factor._tag === "Add" && operations(negated(factor)) <= operations(factor))
    const factor = written[at]
    if (factor !== undefined) return product(Exact.negate(content), written.with(at, negated(factor)))
  }
  const sorted = written.sort(compare)
  const all = isOne(number(content)) ? sorted : [number(content), ...sorted]
  return all.length === 1 ? all[0]! : { _tag: "Mul", args: all }
}

const negated = (sum: Node): Node => multiply([minusOne, sum])

/**
 * Sums over one denominator and with common factors of their terms extracted, if that is not longer: what SymPy's
 * `simplify` does to most formulas.
 */
export const simplified = (node: Node): Node => {
  if (node._tag === "Function") return { ...node, args: node.args.map(simplified) }
  if (node._tag === "Pow") return power(simplified(node.base), simplified(node.exponent))
  if (node._tag === "Mul") {
    const whole = multiply(node.args.map(simplified))
    if (whole._tag !== "Mul") return whole
    let content = Exact.one
    const factors = whole.args.flatMap((factor): ReadonlyArray<Node> => {
      const [base, exponent] = exponentOf(factor)
      if (base._tag !== "Add" || !isNumber(exponent) || exponent.value.denominator !== 1n) return [factor]
      const found = commonOf(base.args)
      if (isOne(number(found.content))) return [factor]
      const taken = power(number(found.content), exponent)
      if (isNumber(taken)) content = Exact.multiply(content, taken.value) ?? content
      const inside = add(base.args.map((term) => multiply([term, power(number(found.content), minusOne)])))
      return [power(inside, exponent)]
    })
    const [numbers, rest] = [factors.filter(isNumber), factors.filter((factor) => !isNumber(factor))]
    return product(
      numbers.reduce((all, { value }) => Exact.multiply(all, value) ?? all, content),
      rest
    )
  }
  if (node._tag !== "Add") return node
  const sum = add(node.args.map(simplified))
  if (sum._tag !== "Add") return sum
  const { common, content, rest } = commonOf(sum.args)
  if (common.length === 0) return sum
  const factored = product(content, [
    ...common.flatMap((factor) => (factor._tag === "Mul" ? factor.args : [factor])),
    rest
  ])
  return operations(factored) <= operations(sum) ? factored : sum
}
