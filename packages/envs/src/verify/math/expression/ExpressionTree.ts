/**
 * Converts expressions to trees with comparable nodes: made by `FormulaNode`, simplified by `FormulaSimplify`.
 *
 * Labels are `number_…`, `symbol_…`, `operator_Add`, `operator_Mul`, `operator_Pow`, `function_…`.
 */
import * as Exact from "./Exact.ts"
import type { Expression, Operator } from "./Expression.ts"
import { add, isNumber, isZero, minusOne, multiply, number, power, zero, type Node } from "./FormulaNode.ts"
import { simplified } from "./FormulaSimplify.ts"

export interface Tree {
  readonly label: string
  readonly children: ReadonlyArray<Tree>
}

const names: { readonly [operator in Operator]?: string } = {
  Abs: "Abs",
  Arcsin: "asin",
  Arccos: "acos",
  Arctan: "atan",
  Sin: "sin",
  Cos: "cos",
  Tan: "tan",
  Cot: "cot",
  Sec: "sec",
  Csc: "csc",
  Sinh: "sinh",
  Cosh: "cosh",
  Tanh: "tanh",
  Floor: "floor",
  Ceil: "ceiling",
  Factorial: "factorial",
  Binomial: "binomial",
  Max: "Max",
  Min: "Min"
}

const applied = (operator: Operator, args: ReadonlyArray<Node>): Node | undefined => {
  const [a = zero, b = zero] = args
  switch (operator) {
    case "Add":
      return add(args)
    case "Subtract":
      return add([a, multiply([minusOne, b])])
    case "Negate":
      return multiply([minusOne, a])
    case "Multiply":
      return multiply(args)
    case "Divide":
      return isZero(b) ? undefined : multiply([a, power(b, minusOne)])
    case "Power":
      return isZero(a) && isNumber(b) && b.value.numerator < 0n ? undefined : power(a, b)
    case "Sqrt":
      return power(a, number({ numerator: 1n, denominator: 2n }))
    case "Root":
      return isZero(b) ? undefined : power(a, power(b, minusOne))
    case "Exp":
      return { _tag: "Function", name: "exp", args: [a] }
    case "Ln":
      return { _tag: "Function", name: "log", args: [a] }
    case "Log":
      return multiply([
        { _tag: "Function", name: "log", args: [a] },
        power({ _tag: "Function", name: "log", args: [args.length > 1 ? b : number(Exact.fromInteger(10))] }, minusOne)
      ])
    default: {
      const name = names[operator]
      return name === undefined ? undefined : { _tag: "Function", name, args }
    }
  }
}

const nodeOf = (expression: Expression): Node | undefined => {
  switch (expression._tag) {
    case "Number":
      return number(expression.value)
    case "Constant":
      // The imaginary unit is not supported in trees.
      return expression.name === "I" ? undefined : { _tag: "Named", name: expression.name }
    case "Symbol":
      return { _tag: "Symbol", name: expression.name }
    case "Apply":
    case "Call": {
      const args = expression.args.map(nodeOf)
      if (!args.every((arg) => arg !== undefined)) return undefined
      return expression._tag === "Call"
        ? { _tag: "Function", name: expression.name, args }
        : applied(expression.operator, args)
    }
    default:
      return undefined
  }
}

const partsOf = (node: Node): ReadonlyArray<Node> =>
  node._tag === "Pow" ? [node.base, node.exponent] : "args" in node ? node.args : []

const labelOf = (node: Node): string => {
  switch (node._tag) {
    case "Number": {
      const { denominator, numerator } = node.value
      return `number_${numerator}${denominator === 1n ? "" : `/${denominator}`}`
    }
    case "Named":
      return node.name === "Pi" ? "number_pi" : "number_E"
    case "Symbol":
      return `symbol_${node.name}`
    case "Function":
      return `function_${node.name}`
    default:
      return `operator_${node._tag}`
  }
}

const treeOf = (node: Node): Tree => ({ label: labelOf(node), children: partsOf(node).map(treeOf) })

/** The tree of an expression; undefined if unsupported: sums over indices, infinity, imaginary numbers. */
export const of = (expression: Expression): Tree | undefined => {
  const node = nodeOf(expression)
  return node === undefined ? undefined : treeOf(simplified(node))
}
