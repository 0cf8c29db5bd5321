/** Differentiation rules of reductions, cumulative sums and softmax. */
import { dimMul } from "./Dim.ts"
import { intOf, type Operands, type Rule, sizesOf } from "./Rule.ts"
import type { Value } from "./Value.ts"

/** The input's shape with the reduced axes as 1. */
const kept = (operands: Operands) => {
  const axes = sizesOf(operands, 1)
  return operands.shape(0).map((dim, axis) => (axes.includes(axis) ? 1 : dim))
}

/** Expands a reduced value to the shape it was reduced from. */
const spread = (operands: Operands, value: Value): Value =>
  operands.g.expand(operands.g.reshape(value, kept(operands)), operands.shape(0))

const count = (operands: Operands): Value => {
  const { dy, g, shape } = operands
  const total = dimMul(...sizesOf(operands, 1).map((axis) => shape(0)[Number(axis)]!))
  return typeof total === "number" ? g.scalar(total, dy.dtype) : g.reshape(g.cast(g.dim(total), dy.dtype), [])
}

export const reductions: Readonly<Record<string, Rule>> = {
  // y = Σ a: every a' = y'
  ReduceSum: (operands) => [() => spread(operands, operands.dy), undefined],
  // y = Σ a / n: every a' = y' / n
  ReduceMean: (operands) => [() => spread(operands, operands.g.div(operands.dy, count(operands))), undefined],
  // y = max a: y' to the maximum, shared equally by ties
  ReduceMax: (operands) => [
    () => {
      const { dy, g, node, x, y } = operands
      const greatest = g.cast(g.equal(x(0), spread(operands, y())), dy.dtype)
      const ties = g.node("ReduceSum", [greatest, node.inputs[1]], dy.dtype, dy.shape, node.attributes)
      return g.mul(greatest, spread(operands, g.div(dy, ties)))
    },
    undefined
  ],
  // y_i = Σ a_j over j <= i: a'_j = Σ y'_i over i >= j
  CumSum: ({ dy, g, node, x }) => {
    const reverse = 1 - intOf(node, "reverse", 0)
    return [() => g.node("CumSum", [dy, x(1)], dy.dtype, dy.shape, { ...node.attributes, reverse }), undefined]
  },
  // y = exp(a) / Σ exp(a): a' = y (y' - Σ y y')
  Softmax: ({ dy, g, node, y }) => [
    () => {
      const weighted = g.mul(dy, y())
      return g.sub(weighted, g.mul(y(), g.sum(weighted, [intOf(node, "axis", -1)], true)))
    }
  ],
  // y = a - ln Σ exp(a): a' = y' - exp(y) Σ y'
  LogSoftmax: ({ dy, g, node, y }) => [() => g.sub(dy, g.mul(g.exp(y()), g.sum(dy, [intOf(node, "axis", -1)], true)))]
}
