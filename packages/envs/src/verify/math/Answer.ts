/** Defines the parts of answers: parsed by `Structure`, compared by `Compare`. */
import * as Exact from "./expression/Exact.ts"
import type { Time } from "./Times.ts"
import { apply, number, type Expression } from "./expression/Expression.ts"

/** One quantity: a number or an expression, with its unit removed. */
export interface Leaf {
  readonly _tag: "Leaf"
  readonly text: string
  /** Undefined if unreadable: it then only equals identical text. */
  readonly expression: Expression | undefined
  /** A factor of the expression: a million for "million". */
  readonly scale: Exact.Rational
  readonly unit: string | undefined
  /** True if a percent sign or word follows. */
  readonly isPercent: boolean
  /** Digits after the point, for a plain decimal. */
  readonly decimalPlaces: number | undefined
}

const hundredth: Exact.Rational = { numerator: 1n, denominator: 100n }

const times = (expression: Expression | undefined, scale: Exact.Rational): Expression | undefined =>
  expression === undefined || Exact.equals(scale, Exact.one) ? expression : apply("Multiply", expression, number(scale))

/** The value of a leaf, including its scale, with a percent sign as 1/100. */
export const worth = (leaf: Leaf): Expression | undefined =>
  times(times(leaf.expression, leaf.scale), leaf.isPercent ? hundredth : Exact.one)

/** The leaf without its percent sign: 25 for `25\%`. */
export const withoutPercent = (leaf: Leaf): Leaf => ({ ...leaf, isPercent: false })

/** Items separated by commas, semicolons or words, in any order. */
export interface List {
  readonly _tag: "List"
  readonly text: string
  readonly items: ReadonlyArray<Answer>
  /** The connective between items; it matters for inequalities. */
  readonly connective: "comma" | "and" | "or"
}

export interface Set {
  readonly _tag: "Set"
  readonly text: string
  readonly items: ReadonlyArray<Answer>
}

/** `(1, 2, 3)`; with two items it may be an open interval. */
export interface Tuple {
  readonly _tag: "Tuple"
  readonly text: string
  readonly items: ReadonlyArray<Answer>
}

export interface Interval {
  readonly _tag: "Interval"
  readonly text: string
  readonly low: Answer
  readonly high: Answer
  readonly isLowClosed: boolean
  readonly isHighClosed: boolean
}

/** Unions, intersections and differences of sets, from left to right. */
export interface SetOperation {
  readonly _tag: "SetOperation"
  readonly text: string
  readonly operator: "union" | "intersection" | "difference"
  readonly left: Answer
  readonly right: Answer
}

/** `x \in [0, 1]`. */
export interface Membership {
  readonly _tag: "Membership"
  readonly text: string
  readonly element: string
  readonly set: Answer
}

export type RelationOperator = "=" | "<" | ">" | "\\leq" | "\\geq" | "\\neq" | "\\approx"

/** `a = b = c` or `0 < x \leq 2`: one more side than operators. */
export interface Relation {
  readonly _tag: "Relation"
  readonly text: string
  readonly sides: ReadonlyArray<Answer>
  readonly operators: ReadonlyArray<RelationOperator>
  /** Which sides can be names of quantities. */
  readonly areNames: ReadonlyArray<boolean>
  /** True if it denotes the set of its solutions: `\{x \mid x < 1\}`. */
  readonly isSet: boolean
}

/** `7:32` or `1:2:3`; also a time of day, `7:32` or "3 p.m.". */
export interface Ratio {
  readonly _tag: "Ratio"
  readonly text: string
  readonly items: ReadonlyArray<Answer>
  readonly time?: Time
}

export interface Matrix {
  readonly _tag: "Matrix"
  readonly text: string
  /** Bars make it a determinant or a norm; in cases, a row is a value and its condition. */
  readonly kind: "matrix" | "determinant" | "norm" | "cases"
  readonly rows: ReadonlyArray<ReadonlyArray<Answer>>
}

/** Words, and anything else that is only compared as text. */
export interface Words {
  readonly _tag: "Words"
  readonly text: string
}

export type Answer =
  | Leaf
  | List
  | Set
  | Tuple
  | Interval
  | SetOperation
  | Membership
  | Relation
  | Ratio
  | Matrix
  | Words
