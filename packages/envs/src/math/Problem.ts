/** Defines a mathematical problem and its answer, both with formulas in LaTeX. */
import type { SeededRandom } from "@atropos/core"
import type { Form } from "./Form.ts"

export type Random = SeededRandom.SeededRandom

export interface Problem {
  readonly problem: string
  /** Without a box. */
  readonly answer: string
  /** The required form, if repeating the problem would have the right value. */
  readonly form?: Form
}

/** Reduces an item to its problem, without any other fields. */
export const problemOf = ({ answer, form, problem }: Problem): Problem => ({
  problem,
  answer,
  ...(form !== undefined && { form })
})

export type Draw = (random: Random) => Problem

export const greatestDivisor = (a: number, b: number): number => (b === 0 ? Math.abs(a) : greatestDivisor(b, a % b))

export const fraction = (numerator: number, denominator: number): string => {
  const divisor = greatestDivisor(numerator, denominator) * Math.sign(denominator)
  const [above, below] = [numerator / divisor, denominator / divisor]
  return below === 1 ? String(above) : `${above < 0 ? "-" : ""}\\frac{${Math.abs(above)}}{${below}}`
}

export const nonZero = (random: Random, largest: number): number => random.between(1, largest) * random.pick([1, -1])

/** A sum as it is written: `terms([[2, "x^2"], [-1, "x"], [3, ""]])` is `2x^2 - x + 3`. */
export const terms = (parts: ReadonlyArray<readonly [coefficient: number, of: string]>): string => {
  const written = parts
    .filter(([coefficient]) => coefficient !== 0)
    .map(([coefficient, of], index) => {
      const size = Math.abs(coefficient)
      const term = size === 1 && of !== "" ? of : `${size}${of}`
      return index === 0 ? `${coefficient < 0 ? "-" : ""}${term}` : `${coefficient < 0 ? "-" : "+"} ${term}`
    })
  return written.length === 0 ? "0" : written.join(" ")
}
