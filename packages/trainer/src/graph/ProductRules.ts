/** Differentiation rules of matrix products. */
import { dimMul } from "./Dim.ts"
import { floatOf, intOf, type Operands, type Rule } from "./Rule.ts"
import type { Value } from "./Value.ts"

const swapLast = (g: Operands["g"], a: Value): Value => {
  const axes = [...a.shape.keys()]
  return g.transpose(a, [...axes.slice(0, -2), axes.at(-1)!, axes.at(-2)!])
}

/** [..., M, K] as a matrix of all its rows. */
const rows = (g: Operands["g"], a: Value): Value => g.reshape(a, [dimMul(...a.shape.slice(0, -1)), a.shape.at(-1)!])

export const products: Readonly<Record<string, Rule>> = {
  // Y = A B per matrix: A' = Y' Bᵀ, B' = Aᵀ Y'; one product over all rows if B is a single matrix
  MatMul: ({ dy, g, shape, x }) => [
    () => g.matmul(dy, swapLast(g, x(1))),
    () => (shape(1).length === 2 ? g.gemm(rows(g, x(0)), rows(g, dy), true) : g.matmul(swapLast(g, x(0)), dy))
  ],
  // Y = α P Q + β C, where P is A or Aᵀ and Q is B or Bᵀ: P' = α Y' Qᵀ, Q' = α Pᵀ Y', C' = β Y'
  Gemm: ({ dy, g, node, x }) => {
    const transA = intOf(node, "transA", 0) === 1
    const transB = intOf(node, "transB", 0) === 1
    const scaled = (name: string) => {
      const factor = floatOf(node, name, 1)
      return factor === 1 ? dy : g.scale(dy, factor)
    }
    return [
      () => (transA ? g.gemm(x(1), scaled("alpha"), transB, true) : g.gemm(scaled("alpha"), x(1), false, !transB)),
      () => (transB ? g.gemm(scaled("alpha"), x(0), true, transA) : g.gemm(x(0), scaled("alpha"), !transA, false)),
      () => scaled("beta")
    ]
  }
}
