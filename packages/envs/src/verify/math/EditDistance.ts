/**
 * Scores the similarity of a formula to a reference, from 0 to 100: PHYBench's EED score.
 *
 * 100 if they are equivalent; else max(0, 60 - 100·d/n), with d the distance of their trees and n the nodes of the
 * reference's; 0 for unreadable formulas, for integrals and sums, and for answers more than three times as long as the
 * reference. Equivalence is decided by `MathAnswer`. The original lets SymPy simplify both before it makes trees: if
 * that rewrites a formula, distances differ.
 */
import { apply, type Expression } from "./expression/Expression.ts"
import * as ExpressionTree from "./expression/ExpressionTree.ts"
import * as ExpressionValue from "./ExpressionValue.ts"
import type { Reader } from "./Latex.ts"
import { isWithinLimits, normalise } from "./Normalise.ts"
import * as TreeDistance from "./expression/TreeDistance.ts"

/** Max score of a formula that is not equivalent. */
const best = 60

/**
 * The expression of an answer; of an equation its right side. Letters at its end are factors (`2mg`), not a unit as in
 * an arithmetic answer.
 */
const read = (text: string, reader: Reader): Expression | undefined => {
  const sides = normalise(text).split("=")
  const [side = "", formula = side, ...more] = sides
  return more.length > 0 ? undefined : reader(formula.trim())
}

export const score = (gold: string, said: string, reader: Reader): number => {
  if (said === "" || /\\int|\\sum/.test(said + gold)) return 0
  if (gold === said) return 100
  if (said.length > 3 * gold.length || !isWithinLimits(gold) || !isWithinLimits(said)) return 0
  const [a, b] = [read(gold, reader), read(said, reader)]
  if (a === undefined || b === undefined) return 0
  if (ExpressionValue.equivalent(a, b)) return 100
  const [wanted, found] = [ExpressionTree.of(a), ExpressionTree.of(b)]
  if (wanted === undefined || found === undefined) return 0
  const isSame = ExpressionTree.of(apply("Subtract", a, b))?.label === "number_0"
  if (isSame) return 100
  return Math.max(0, best - (100 * TreeDistance.between(found, wanted)) / TreeDistance.size(wanted))
}
