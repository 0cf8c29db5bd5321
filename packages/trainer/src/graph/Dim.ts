/**
 * Sizes of axes: numbers, or expressions over symbols whose values the inputs of a run define.
 *
 * An expression is (sum of products of symbols) / integer, such as `"2*B*T"`, `"(P+T)/2"`, `"B*T/4"`, as text in a
 * normal form, so that equal sizes are equal strings. Divisions must be exact: else the operation that uses the size
 * fails in the executor.
 */

import { ShapeError } from "./GraphError.ts"

/** A size in elements: a number, or an expression in normal form. */
export type Dim = number | string

/** Product of symbols (sorted, joined by `*`; "" is 1) -> its integer coefficient, never 0. */
type Terms = ReadonlyMap<string, number>

interface Fraction {
  readonly terms: Terms
  readonly over: number
}

export const symbolPattern = /^[A-Za-z_]\w*$/

const commonDivisor = (a: number, b: number): number => (b === 0 ? Math.abs(a) : commonDivisor(b, a % b))

const termPattern = /^(-?)((?:\w+\*)*\w+)$/
const fractionPattern = /^(?:\(([^()]*)\)|([^()/+]*))\/(\d+)$/

const parseTerm = (text: string, dim: string): readonly [string, number] => {
  const [, sign, product] = termPattern.exec(text) ?? []
  const factors = product?.split("*") ?? [""]
  const symbols = factors.filter((factor) => symbolPattern.test(factor))
  const counts = factors.filter((factor) => !symbolPattern.test(factor)).map(Number)
  if (!counts.every(Number.isInteger) || product === undefined) {
    throw new ShapeError({
      op: "dim",
      operands: [],
      reason: `"${dim}" is not a valid size: write it as "2*B*T", "B*T/4" or "(P+T)/2"`
    })
  }
  return [symbols.toSorted().join("*"), counts.reduce((a, b) => a * b, sign === "-" ? -1 : 1)]
}

const collect = (terms: Iterable<readonly [string, number]>): Terms => {
  const sums = new Map<string, number>()
  for (const [symbols, coefficient] of terms) sums.set(symbols, (sums.get(symbols) ?? 0) + coefficient)
  return new Map([...sums].filter(([, coefficient]) => coefficient !== 0))
}

const parse = (dim: Dim): Fraction => {
  if (typeof dim === "number") return { terms: collect([["", dim]]), over: 1 }
  const [, sum, product, over] = fractionPattern.exec(dim) ?? []
  const terms = (sum ?? product ?? dim).replaceAll("-", "+-").split("+")
  const [first, ...rest] = terms[0] === "" ? terms.slice(1) : terms
  return { terms: collect([first ?? "", ...rest].map((term) => parseTerm(term, dim))), over: Number(over ?? 1) }
}

const constantLast = ([a]: readonly [string, number], [b]: readonly [string, number]): number =>
  a === "" ? 1 : b === "" || a < b ? -1 : 1

const format = ({ over, terms }: Fraction): Dim => {
  if (terms.size === 0) return 0
  const divisor = [...terms.values()].reduce(commonDivisor, over)
  const denominator = over / divisor
  // A non-integer number remains a fraction, which is exact.
  if (terms.size === 1 && terms.has("") && denominator === 1) return terms.get("")! / divisor
  const sum = [...terms]
    .toSorted(constantLast)
    .map(([symbols, coefficient]) => {
      const count = coefficient / divisor
      if (symbols === "") return String(count)
      return count === 1 ? symbols : count === -1 ? `-${symbols}` : `${count}*${symbols}`
    })
    .join("+")
    .replaceAll("+-", "-")
  if (denominator === 1) return sum
  return terms.size === 1 ? `${sum}/${denominator}` : `(${sum})/${denominator}`
}

const multiply = (a: Fraction, b: Fraction): Fraction => ({
  terms: collect(
    [...a.terms].flatMap(([left, m]) =>
      [...b.terms].map(([right, n]) => {
        const symbols = [...left.split("*"), ...right.split("*")].filter((symbol) => symbol !== "")
        return [symbols.toSorted().join("*"), m * n] as const
      })
    )
  ),
  over: a.over * b.over
})

const plus = (a: Fraction, b: Fraction): Fraction => ({
  terms: collect([
    ...[...a.terms].map(([symbols, count]) => [symbols, count * b.over] as const),
    ...[...b.terms].map(([symbols, count]) => [symbols, count * a.over] as const)
  ]),
  over: a.over * b.over
})

export const dimNormal = (dim: Dim): Dim =>
  typeof dim === "number" || symbolPattern.test(dim) ? dim : format(parse(dim))

/** The product; 1 if empty. */
export const dimMul = (...dims: ReadonlyArray<Dim>): Dim =>
  format(dims.map(parse).reduce(multiply, { terms: new Map([["", 1]]), over: 1 }))

/** The sum; 0 if empty. */
export const dimAdd = (...dims: ReadonlyArray<Dim>): Dim =>
  format(dims.map(parse).reduce(plus, { terms: new Map(), over: 1 }))

export const dimSub = (a: Dim, b: Dim): Dim => dimAdd(a, dimMul(-1, b))

/** dim / count; the caller guarantees divisibility. */
export const dimDiv = (dim: Dim, count: number): Dim => {
  const { over, terms } = parse(dim)
  return format({ terms, over: over * count })
}

/** Parts of a size for computing it in a graph: sum of coefficient times symbols, divided by `over`. */
export const dimTerms = (
  dim: string
): { readonly terms: ReadonlyArray<{ count: number; symbols: ReadonlyArray<string> }>; readonly over: number } => {
  const { over, terms } = parse(dim)
  return {
    terms: [...terms].map(([symbols, count]) => ({ count, symbols: symbols === "" ? [] : symbols.split("*") })),
    over
  }
}

export const dimSymbols = (dim: Dim): ReadonlyArray<string> =>
  typeof dim === "number" ? [] : [...new Set(dimTerms(dim).terms.flatMap(({ symbols }) => symbols))]
