/**
 * Compares several inequalities of one unknown in a reference with a set: `x < -2 \text{ or } x > 3` is answered by
 * `(-\infty, -2) \cup (3, \infty)`.
 */
import type { Answer } from "./Answer.ts"
import * as RealSet from "./RealSet.ts"

/** The solutions of one relation, also an equation. */
const solutionsOf = (answer: Answer) => {
  if (answer._tag !== "Relation") return undefined
  const [left, right, ...more] = answer.sides
  if (answer.operators[0] !== "=" || left === undefined || right === undefined || more.length > 0)
    return RealSet.fromInequality(answer)
  const [variable, value] = [RealSet.unknown(left), RealSet.endOf(right)]
  return variable === undefined || variable.isAbsolute || value === undefined || typeof value === "string"
    ? undefined
    : { name: variable.name, set: [RealSet.point(value)] }
}

/**
 * The solutions of several inequalities of one unknown: all of them, except if an "or" joins them or they exclude each
 * other ("x < -2 and x > 3" means either).
 */
const fromInequalities = ({
  connective,
  items
}: Extract<Answer, { _tag: "List" }>): { readonly name: string; readonly set: RealSet.RealSet } | undefined => {
  const [first, ...more] = items.map(solutionsOf)
  if (first === undefined || more.some((one) => one?.name !== first.name)) return undefined
  const combined = (join: typeof RealSet.union) =>
    more.reduce<RealSet.RealSet | undefined>(
      (set, one) => (set === undefined || one === undefined ? undefined : join(set, one.set)),
      first.set
    )
  const both = connective === "or" ? [] : combined(RealSet.intersection)
  const set = both?.length === 0 ? combined(RealSet.union) : both
  return set === undefined ? undefined : { name: first.name, set }
}

/** True if several inequalities have the solutions of one, `x > -1 \text{ and } x < 2` of `-1 < x < 2`. */
export const areOne = (
  list: Extract<Answer, { _tag: "List" }>,
  one: Extract<Answer, { _tag: "Relation" }>
): boolean => {
  const [several, single] = [fromInequalities(list), RealSet.fromInequality(one)]
  return (
    several !== undefined &&
    single !== undefined &&
    several.name === single.name &&
    RealSet.equals(several.set, single.set)
  )
}

/** True if a set, or a membership in one, has the solutions of a list. */
export const areSolvedBy = (gold: Extract<Answer, { _tag: "List" }>, prediction: Answer): boolean => {
  const solutions = fromInequalities(gold)
  const set = RealSet.fromAnswer(prediction)
  const isNamed = prediction._tag !== "Membership" || prediction.element === solutions?.name
  return solutions !== undefined && set !== undefined && isNamed && RealSet.equals(solutions.set, set)
}
