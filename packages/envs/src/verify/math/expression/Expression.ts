/**
 * Defines arithmetic expressions of one leaf of an answer: produced by `Plain` and `Latex`, evaluated by
 * `ExpressionValue`.
 */
import type { Rational } from "./Exact.ts"

/** Operators supported by `ExpressionValue`, under compute-engine's names, with the min and max number of arguments. */
export const operators = {
  Add: [1, 500],
  Subtract: [2, 2],
  Negate: [1, 1],
  Multiply: [1, 500],
  Divide: [2, 2],
  Power: [2, 2],
  Sqrt: [1, 1],
  Root: [2, 2],
  Abs: [1, 1],
  Exp: [1, 1],
  Ln: [1, 1],
  Log: [1, 2],
  Sin: [1, 1],
  Cos: [1, 1],
  Tan: [1, 1],
  Cot: [1, 1],
  Sec: [1, 1],
  Csc: [1, 1],
  Arcsin: [1, 1],
  Arccos: [1, 1],
  Arctan: [1, 1],
  Sinh: [1, 1],
  Cosh: [1, 1],
  Tanh: [1, 1],
  Floor: [1, 1],
  Ceil: [1, 1],
  Factorial: [1, 1],
  Binomial: [2, 2],
  Max: [1, 100],
  Min: [1, 100]
} as const satisfies Record<string, readonly [minimum: number, maximum: number]>

export type Operator = keyof typeof operators

export type Expression =
  | { readonly _tag: "Number"; readonly value: Rational }
  | { readonly _tag: "Constant"; readonly name: "Pi" | "E" | "I" }
  | { readonly _tag: "Infinity"; readonly isNegative: boolean }
  | { readonly _tag: "Symbol"; readonly name: string }
  | { readonly _tag: "Apply"; readonly operator: Operator; readonly args: ReadonlyArray<Expression> }
  /** An unknown function, such as `f(x + 1)`. */
  | { readonly _tag: "Call"; readonly name: string; readonly args: ReadonlyArray<Expression> }
  /** A sum or product over consecutive integers. */
  | {
      readonly _tag: "Series"
      readonly kind: "Sum" | "Product"
      readonly body: Expression
      readonly index: string
      readonly from: Expression
      readonly to: Expression
    }

export const number = (value: Rational): Expression => ({ _tag: "Number", value })

export const apply = (operator: Operator, ...args: ReadonlyArray<Expression>): Expression => ({
  _tag: "Apply",
  operator,
  args
})

/** Names of the free symbols in `expression`, excluding those bound by a series. */
export const symbols = (expression: Expression): ReadonlySet<string> => {
  const names = new Set<string>()
  const visit = (node: Expression, bound: ReadonlySet<string>): void => {
    switch (node._tag) {
      case "Symbol":
        if (!bound.has(node.name)) names.add(node.name)
        return
      case "Apply":
      case "Call":
        for (const argument of node.args) visit(argument, bound)
        return
      case "Series":
        visit(node.from, bound)
        visit(node.to, bound)
        return visit(node.body, new Set([...bound, node.index]))
      default:
    }
  }
  visit(expression, new Set())
  return names
}
