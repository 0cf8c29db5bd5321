/**
 * Computes sums, differences and products of matrices, entry by entry as expressions; undefined if shapes do not match,
 * an entry is unreadable or there are too many.
 */
import { type Answer, type Matrix, worth } from "./Answer.ts"
import * as Exact from "./expression/Exact.ts"
import { apply, type Expression } from "./expression/Expression.ts"
import type { Split } from "../text/Scan.ts"

/** A matrix's leaves as expressions; undefined if any is unreadable. */
const entries = (answer: Answer): ReadonlyArray<ReadonlyArray<Expression>> | undefined => {
  if (answer._tag !== "Matrix") return undefined
  const rows = answer.rows.map((row) => row.flatMap((entry) => (entry._tag === "Leaf" ? (worth(entry) ?? []) : [])))
  return rows.every((row, i) => row.length === answer.rows[i]?.length) ? rows : undefined
}

const matrixOperators = /(?<=\\end\{[pb]matrix\})\s*(?:(?:[+-]|\\cdot|\\times)\s*)?(?=\\begin\{[pb]matrix\})/g
const maxEntries = 100

const factored = /^([^&=]{1,100}?)\s?(?:\\(?:cdot|times)\s?)?(\\begin\{([pb])matrix\}.*\\end\{\3matrix\})$/s

/** A factor and the matrix that it multiplies, as written; undefined for anything else. */
export const factors = (text: string): readonly [factor: string, matrix: string] | undefined => {
  const [, factor = "", matrix = ""] = factored.exec(text) ?? []
  const isOne = matrix.lastIndexOf("\\begin") === 0 && !factor.includes("\\begin")
  return isOne && factor.trim() !== "" ? [factor.trim() === "-" ? "-1" : factor.trim(), matrix] : undefined
}

/** One step of a sum, difference or product of matrices, entry by entry as expressions. */
const combine = (
  operator: string,
  a: ReadonlyArray<ReadonlyArray<Expression>>,
  b: ReadonlyArray<ReadonlyArray<Expression>>
): ReadonlyArray<ReadonlyArray<Expression>> | undefined => {
  if (operator === "+" || operator === "-") {
    const isSameShape = a.length === b.length && a.every((row, i) => row.length === b[i]?.length)
    return isSameShape
      ? a.map((row, i) => row.map((entry, j) => apply(operator === "+" ? "Add" : "Subtract", entry, b[i]![j]!)))
      : undefined
  }
  const [width, columns] = [b.length, b[0]?.length ?? 0]
  if (a.some((row) => row.length !== width) || b.some((row) => row.length !== columns)) return undefined
  return a.map((row) =>
    Array.from({ length: columns }, (_, j) =>
      apply("Add", ...row.map((entry, k) => apply("Multiply", entry, b[k]![j]!)))
    )
  )
}

const leaves = (rows: ReadonlyArray<ReadonlyArray<Expression>>): Matrix["rows"] =>
  rows.map((row) =>
    row.map((expression) => ({
      _tag: "Leaf",
      text: "",
      expression,
      scale: Exact.one,
      isPercent: false,
      unit: undefined,
      decimalPlaces: undefined
    }))
  )

export const split = (text: string): Split => ({
  parts: text.split(matrixOperators),
  separators: [...text.matchAll(matrixOperators)].map(([separator]) => separator.trim())
})

/** The result of a chain of sums, or of products. */
export const result = (
  matrices: ReadonlyArray<Answer>,
  operators: ReadonlyArray<string>
): Matrix["rows"] | undefined => {
  const isSum = operators.some((operator) => /[+-]/.test(operator))
  const isMixed = isSum && !operators.every((operator) => /[+-]/.test(operator))
  if (matrices.length < 2 || matrices.length > 6 || isMixed) return undefined
  const [first, ...rest] = matrices.map(entries)
  let sum = first
  for (const [i, next] of rest.entries()) {
    if (sum === undefined || next === undefined || sum.flat().length > maxEntries) return undefined
    sum = combine(operators[i] ?? "", sum, next)
  }
  return sum && leaves(sum)
}

/** The entries of a matrix times a factor. */
export const scaled = (factor: Answer, matrix: Answer): Matrix["rows"] | undefined => {
  const rows = entries(matrix)
  const by = factor._tag === "Leaf" && factor.unit === undefined ? worth(factor) : undefined
  return rows === undefined || by === undefined || rows.flat().length > maxEntries
    ? undefined
    : leaves(rows.map((row) => row.map((entry) => apply("Multiply", by, entry))))
}
