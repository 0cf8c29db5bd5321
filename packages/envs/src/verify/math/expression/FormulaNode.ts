/**
 * Represents formulas in SymPy's canonical form (https://docs.sympy.org, BSD): flat sums and products, like terms and
 * equal bases combined, numbers computed, arguments in a canonical order. Differences, quotients and roots are sums,
 * products and powers.
 */
import * as Exact from "./Exact.ts"

export type Node =
  | { readonly _tag: "Number"; readonly value: Exact.Rational }
  | { readonly _tag: "Named"; readonly name: "Pi" | "E" }
  | { readonly _tag: "Symbol"; readonly name: string }
  | { readonly _tag: "Pow"; readonly base: Node; readonly exponent: Node }
  | { readonly _tag: "Mul" | "Add"; readonly args: ReadonlyArray<Node> }
  | { readonly _tag: "Function"; readonly name: string; readonly args: ReadonlyArray<Node> }

export const number = (value: Exact.Rational): Node => ({ _tag: "Number", value })
export const zero: Node = number(Exact.zero)
export const one: Node = number(Exact.one)
export const minusOne: Node = number(Exact.fromInteger(-1))

export const isNumber = (node: Node): node is Extract<Node, { _tag: "Number" }> => node._tag === "Number"
export const isZero = (node: Node): boolean => isNumber(node) && node.value.numerator === 0n
export const isOne = (node: Node): boolean =>
  isNumber(node) && node.value.numerator === 1n && node.value.denominator === 1n

/** Kinds in SymPy's order; functions come after them, by name. */
const kinds: { readonly [tag in Node["_tag"]]: number } = {
  Number: 0,
  Named: 1,
  Symbol: 2,
  Pow: 3,
  Mul: 4,
  Add: 5,
  Function: 6
}

const partsOf = (node: Node): ReadonlyArray<Node> =>
  node._tag === "Pow" ? [node.base, node.exponent] : "args" in node ? node.args : []

const nameOf = (node: Node): string => ("name" in node ? node.name : "")

const compareText = (a: string, b: string): number => (a > b ? 1 : a < b ? -1 : 0)

export const compare = (a: Node, b: Node): number => {
  const byKind = kinds[a._tag] - kinds[b._tag]
  if (byKind !== 0) return byKind
  if (isNumber(a) && isNumber(b)) {
    const [x, y] = [a.value.numerator * b.value.denominator, b.value.numerator * a.value.denominator]
    return x > y ? 1 : x < y ? -1 : 0
  }
  const byName = compareText(nameOf(a), nameOf(b))
  if (byName !== 0) return byName
  const [p, q] = [partsOf(a), partsOf(b)]
  if (p.length !== q.length) return p.length - q.length
  for (const [at, part] of p.entries()) {
    const difference = compare(part, q[at] ?? part)
    if (difference !== 0) return difference
  }
  return 0
}

export const keyOf = (node: Node): string =>
  isNumber(node)
    ? `${node.value.numerator}/${node.value.denominator}`
    : `${node._tag}:${nameOf(node)}(${partsOf(node).map(keyOf).join(",")})`

/** A number and its factor. */
export const coefficient = (node: Node): readonly [Exact.Rational, Node] => {
  if (isNumber(node)) return [node.value, one]
  if (node._tag !== "Mul") return [Exact.one, node]
  const [first, ...rest] = node.args
  if (first === undefined || !isNumber(first)) return [Exact.one, node]
  const [only, ...more] = rest
  return [first.value, only !== undefined && more.length === 0 ? only : { _tag: "Mul", args: rest }]
}

export const add = (args: ReadonlyArray<Node>): Node => {
  const terms = new Map<string, { sum: Exact.Rational; readonly node: Node }>()
  for (const arg of args.flatMap((one) => (one._tag === "Add" ? one.args : [one]))) {
    const [factor, node] = coefficient(arg)
    const known = terms.get(keyOf(node))
    if (known === undefined) terms.set(keyOf(node), { sum: factor, node })
    else known.sum = Exact.add(known.sum, factor) ?? known.sum
  }
  const all = [...terms.values()]
    .filter(({ sum }) => sum.numerator !== 0n)
    .map(({ node, sum }) => (isOne(node) ? number(sum) : multiply([number(sum), node])))
  const sorted = [...all.filter(isNumber), ...all.filter((node) => !isNumber(node)).sort(compare)]
  const [first] = sorted
  return sorted.length === 0 ? zero : sorted.length === 1 ? first! : { _tag: "Add", args: sorted }
}

export const exponentOf = (node: Node): readonly [Node, Node] =>
  node._tag === "Pow" ? [node.base, node.exponent] : [node, one]

export const multiply = (args: ReadonlyArray<Node>): Node => {
  let product = Exact.one
  const powers = new Map<string, { readonly base: Node; exponents: Array<Node> }>()
  for (const arg of args.flatMap((one) => (one._tag === "Mul" ? one.args : [one]))) {
    if (isNumber(arg)) {
      product = Exact.multiply(product, arg.value) ?? product
      continue
    }
    const [base, exponent] = exponentOf(arg)
    const known = powers.get(keyOf(base))
    if (known === undefined) powers.set(keyOf(base), { base, exponents: [exponent] })
    else known.exponents.push(exponent)
  }
  if (product.numerator === 0n) return zero
  const factors: Array<Node> = []
  for (const { base, exponents } of powers.values()) {
    const factor = exponents.length === 1 ? power(base, exponents[0]!) : power(base, add(exponents))
    for (const part of factor._tag === "Mul" ? factor.args : [factor]) {
      if (isNumber(part)) product = Exact.multiply(product, part.value) ?? product
      else factors.push(part)
    }
  }
  const [only] = factors
  const isSum = factors.length === 1 && only?._tag === "Add" && !isOne(number(product))
  if (isSum) return add(only.args.map((term) => multiply([number(product), term])))
  const sorted = factors.sort(compare)
  const all = isOne(number(product)) ? sorted : [number(product), ...sorted]
  return all.length === 0 ? one : all.length === 1 ? all[0]! : { _tag: "Mul", args: all }
}

/** Powers of numbers with larger exponents are kept. */
const mostExponent = 64n

/** The largest square that divides a number of moderate size, and the remaining factor. */
const squares = (value: bigint): readonly [root: bigint, rest: bigint] => {
  let [root, rest] = [1n, value]
  for (let factor = 2n; factor * factor <= rest && factor < 1_000n; factor++) {
    while (rest % (factor * factor) === 0n) {
      rest /= factor * factor
      root *= factor
    }
  }
  return [root, rest]
}

export const power = (base: Node, exponent: Node): Node => {
  if (isZero(exponent)) return one
  if (isOne(exponent) || isOne(base)) return base
  if (isNumber(exponent)) {
    const { denominator, numerator } = exponent.value
    if (isNumber(base) && denominator === 1n && numerator >= -mostExponent && numerator <= mostExponent) {
      const size = numerator < 0n ? -numerator : numerator
      const [over, under] = [base.value.numerator ** size, base.value.denominator ** size]
      const value = numerator < 0n ? Exact.make(under, over) : Exact.make(over, under)
      if (value !== undefined) return number(value)
    }
    if (isNumber(base) && denominator === 2n && base.value.numerator > 0n) return root(base.value, numerator)
    if (denominator === 1n && base._tag === "Mul") return multiply(base.args.map((factor) => power(factor, exponent)))
    if (denominator === 1n && base._tag === "Pow") return power(base.base, multiply([base.exponent, exponent]))
    // Letters are assumed positive.
    if (denominator !== 1n && base._tag === "Mul") {
      return multiply(base.args.map((factor) => power(factor, exponent)))
    }
    if (denominator !== 1n && base._tag === "Pow") return power(base.base, multiply([base.exponent, exponent]))
  }
  return base._tag === "Named" && base.name === "E"
    ? { _tag: "Function", name: "exp", args: [exponent] }
    : { _tag: "Pow", base, exponent }
}

/** √(a/b) to an odd power, as a number and the root of a square-free one. */
const root = ({ denominator, numerator }: Exact.Rational, times: bigint): Node => {
  const half = Exact.make(1n, 2n)
  const whole = numerator * denominator
  const [outside, inside] = squares(whole)
  const factor = Exact.make(outside, denominator)
  if (half === undefined || factor === undefined) return one
  const rooted: Node = { _tag: "Pow", base: number(Exact.fromInteger(inside)), exponent: number(half) }
  const positive =
    inside === 1n ? number(factor) : Exact.equals(factor, Exact.one) ? rooted : multiply([number(factor), rooted])
  if (times === 1n) return positive
  if (times === -1n) return root({ numerator: denominator, denominator: numerator }, 1n)
  return multiply([positive, power(number({ numerator, denominator }), number(Exact.fromInteger((times - 1n) / 2n)))])
}
