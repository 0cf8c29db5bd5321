/**
 * Decides part by part if a predicted answer is equivalent to the gold answer.
 *
 * Undecided is not equal. The relation is symmetric except for three things that only a gold answer may leave open: an
 * inequality may be answered by its solution set, a value may be answered with its name (`x = 3` for `3`) or with the
 * steps that led to it, and a named value may be answered without its name.
 */
import { type Answer, type Ratio, type Relation, worth } from "./Answer.ts"
import * as CompareLeaves from "./CompareLeaves.ts"
import type { Rules } from "./CompareLeaves.ts"
import * as ExpressionValue from "./ExpressionValue.ts"
import { apply, type Expression } from "./expression/Expression.ts"
import * as Inequalities from "./Inequalities.ts"
import { assignment, inArgumentOf, isConstant } from "./Naming.ts"
import * as RealSet from "./RealSet.ts"
import * as Times from "./Times.ts"

export { defaultRules, type Rules } from "./CompareLeaves.ts"

/**
 * True if every item of each list has an equal one in the other: order is ignored, repetition too unless `isCounted`.
 */
const sameItems = (
  gold: ReadonlyArray<Answer>,
  prediction: ReadonlyArray<Answer>,
  rules: Rules,
  isCounted: boolean
): boolean => {
  if (gold.length * prediction.length > maxComparisons || (isCounted && gold.length !== prediction.length)) return false
  const matches = gold.map((a) => prediction.map((b) => compare(a, b, rules)))
  if (isCounted) {
    const taken = new Set<number>()
    return matches.every((row) => {
      const at = row.findIndex((isSame, j) => isSame && !taken.has(j))
      return at >= 0 && taken.add(at).size > 0
    })
  }
  return (
    matches.every((row) => row.includes(true)) && prediction.every((_, j) => matches.some((row) => row[j] === true))
  )
}

/** Larger lists in both answers are compared in order only. */
const maxComparisons = 2_500

const sameSequence = (gold: ReadonlyArray<Answer>, prediction: ReadonlyArray<Answer>, rules: Rules): boolean =>
  gold.length === prediction.length && gold.every((item, i) => compare(item, prediction[i]!, rules))

/** A relation between two sides as `left - right` and its sign; `>` is converted to `<`. */
interface Atom {
  readonly kind: "=" | "<" | "\\leq" | "\\neq"
  readonly left: Answer
  readonly right: Answer
}

const atoms = (relation: Relation): ReadonlyArray<Atom> | undefined => {
  const atoms: Array<Atom> = []
  for (const [i, operator] of relation.operators.entries()) {
    const [left, right] = [relation.sides[i]!, relation.sides[i + 1]!]
    if (operator === "\\approx") return undefined
    if (operator === ">") atoms.push({ kind: "<", left: right, right: left })
    else if (operator === "\\geq") atoms.push({ kind: "\\leq", left: right, right: left })
    else atoms.push({ kind: operator, left, right })
  }
  return atoms
}

const difference = ({ left, right }: Atom): Expression | undefined => {
  if (left._tag !== "Leaf" || right._tag !== "Leaf") return undefined
  const [a, b] = [worth(left), worth(right)]
  return a === undefined || b === undefined ? undefined : apply("Subtract", a, b)
}

const sameAtom = (gold: Atom, prediction: Atom): boolean => {
  const [a, b] = [difference(gold), difference(prediction)]
  if (gold.kind !== prediction.kind || a === undefined || b === undefined) return false
  return ExpressionValue.proportional(a, b, gold.kind === "<" || gold.kind === "\\leq")
}

const compareRelations = (gold: Relation, prediction: Relation, rules: Rules): boolean => {
  const [named, answered] = [assignment(gold, false), assignment(prediction, false)]
  if (named !== undefined && answered !== undefined) {
    if (compare(named.name, answered.name, rules)) return compare(named.value, answered.value, rules)
    const value = inArgumentOf(named, answered)
    if (value !== undefined) return compare(named.value, value, rules)
  }
  const [a, b] = [atoms(gold), atoms(prediction)]
  if (a === undefined || b === undefined || a.length !== b.length || a.length > 20) return false
  // `2x = 10` does not answer `x = 5`.
  if (named !== undefined && answered === undefined && isConstant(named.value)) return false
  return a.every((x) => b.some((y) => sameAtom(x, y))) && b.every((y) => a.some((x) => sameAtom(x, y)))
}

const isInequality = (answer: Answer): boolean =>
  answer._tag === "Relation" && answer.operators.some((operator) => operator !== "=" && operator !== "\\approx")

const isRealSet = (answer: Answer): boolean =>
  answer._tag === "Interval" ||
  answer._tag === "SetOperation" ||
  answer._tag === "Membership" ||
  RealSet.isReals(answer)

/** Sets that an unknown can be in, which excludes numbers. */
const isSet = (answer: Answer): boolean =>
  answer._tag === "Interval" || answer._tag === "Set" || answer._tag === "SetOperation" || RealSet.isReals(answer)

/** `x \in [0, 1]` answers `[0, 1]`; `5 \in [0, 1]` is a different statement. */
const isSetOfUnknown = ({ element, set }: Extract<Answer, { readonly _tag: "Membership" }>): boolean =>
  isSet(set) && /^[([a-zA-Z]/.test(element) && !/\d/.test(element.replaceAll(/_(?:\{\d+\}|\d)/g, ""))

const sameRealSet = (gold: Answer, prediction: Answer): boolean => {
  const [a, b] = [RealSet.fromAnswer(gold), RealSet.fromAnswer(prediction)]
  return a !== undefined && b !== undefined && RealSet.equals(a, b)
}

/** Intervals with unknowns in their ends, end by end. */
const compareIntervals = (gold: Answer, prediction: Answer, rules: Rules): boolean =>
  gold._tag === "Interval" &&
  prediction._tag === "Interval" &&
  gold.isLowClosed === prediction.isLowClosed &&
  gold.isHighClosed === prediction.isHighClosed &&
  compare(gold.low, prediction.low, rules) &&
  compare(gold.high, prediction.high, rules)

const itemsOf = (answer: Answer): ReadonlyArray<Answer> | undefined =>
  answer._tag === "List" || answer._tag === "Set"
    ? answer.items
    : answer._tag === "SetOperation" && answer.operator === "union"
      ? joined(itemsOf(answer.left), itemsOf(answer.right))
      : undefined

const joined = (a: ReadonlyArray<Answer> | undefined, b: ReadonlyArray<Answer> | undefined) =>
  a === undefined || b === undefined ? undefined : [...a, ...b]

/**
 * Compares as times of day if one is certainly a time; otherwise term by term as multiples of the first one; zeros are
 * undecided.
 */
const compareRatios = ({ items: gold, time: a }: Ratio, { items: prediction, time: b }: Ratio): boolean => {
  if (a?.isSure === true || b?.isSure === true) return a !== undefined && b !== undefined && Times.areEqual(a, b)
  const [x, y] = [gold, prediction].map((items) =>
    items.flatMap((item) => (item._tag === "Leaf" ? (worth(item) ?? []) : []))
  )
  const [x0, y0] = [x?.[0], y?.[0]]
  if (x0 === undefined || y0 === undefined || x?.length !== gold.length || y?.length !== prediction.length) return false
  return (
    x.length === y.length &&
    [...x, ...y].every((term) => !ExpressionValue.isZero(term)) &&
    x.every((term, i) => ExpressionValue.equivalent(apply("Divide", term, x0), apply("Divide", y[i]!, y0)))
  )
}

/** True if `3/2` answers `3:2`. */
const isQuotient = ({ items, time }: Ratio, prediction: Answer): boolean => {
  const [a, b] = items.flatMap((item) => (item._tag === "Leaf" ? (worth(item) ?? []) : []))
  const value = prediction._tag === "Leaf" && prediction.unit === undefined ? worth(prediction) : undefined
  if (a === undefined || b === undefined || value === undefined || items.length !== 2 || time?.isSure === true)
    return false
  return !ExpressionValue.isZero(b) && ExpressionValue.equivalent(apply("Divide", a, b), value)
}

const nameOf = (answer: Answer): string | undefined =>
  answer._tag === "Relation" ? assignment(answer, false)?.name.text : undefined

/**
 * Values separated by commas that may be written as a tuple: not alternatives, and not several values of one unknown.
 */
const isSequence = (answer: Answer): boolean => {
  if (answer._tag !== "List" || answer.connective !== "comma") return false
  const names = answer.items.flatMap((item) => nameOf(item) ?? [])
  return new Set(names).size === names.length
}

/** Values of different unknowns, as in `x = 1, y = 2`; the roots `x_1` and `x_2` belong to one. */
const areNamed = (items: ReadonlyArray<Answer>): boolean => {
  const names = items.map((item) => nameOf(item)?.replace(/^([xyzt])_.*$/, "$1"))
  return names.every((name) => name !== undefined) && new Set(names).size > 1
}

/** The values of one unknown, as in `x = 5 or x = -5` and `x_1 = 5, x_2 = -5`. */
const rootsOf = (items: ReadonlyArray<Answer>) => {
  const named = items.flatMap((item) => (item._tag === "Relation" ? (assignment(item, false) ?? []) : []))
  const names = new Set(named.map(({ name }) => name.text))
  const unknowns = new Set(Array.from(names, (name) => name.replace(/^([a-zA-Z])_\d{1,2}$/, "$1")))
  const [unknown, ...others] = unknowns
  if (unknown === undefined || others.length > 0 || named.length !== items.length) return undefined
  const areIndexed = !names.has(unknown)
  if (areIndexed ? names.size !== items.length : names.size !== 1) return undefined
  return { unknown, areIndexed, values: named.map(({ value }) => value) }
}

/** Values of single letters in alphabetical order: `y = 2, x = 1` is the pair (1, 2). */
const inOrder = (items: ReadonlyArray<Answer>): ReadonlyArray<Answer> => {
  const named = items.map((item) => ({ name: nameOf(item) ?? "", item }))
  return named.every(({ name }) => /^[a-zA-Z](?:_\w)?$/.test(name))
    ? named.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map(({ item }) => item)
    : items
}

const compareLists = (gold: Answer, prediction: Answer, rules: Rules): boolean => {
  const [a, b] = [itemsOf(gold), itemsOf(prediction)]
  if (a !== undefined && prediction._tag === "Tuple")
    return isSequence(gold) && sameSequence(inOrder(a), prediction.items, rules)
  if (gold._tag === "Tuple" && b !== undefined)
    return isSequence(prediction) && sameSequence(gold.items, inOrder(b), rules)
  if (a === undefined || b === undefined) return false
  const areInequalities = a.some(isInequality) || b.some(isInequality)
  if (areInequalities && gold._tag === "List" && prediction._tag === "List") {
    const isClear = (gold.connective === "or") === (prediction.connective === "or")
    if (!isClear) return false
  }
  const [roots, given] = [rootsOf(a), rootsOf(b)]
  if (roots !== undefined && given !== undefined && roots.areIndexed !== given.areIndexed) {
    return roots.unknown === given.unknown && sameItems(roots.values, given.values, rules, false)
  }
  // A set has no repetitions; in a gold list, repetitions count.
  const repeats = new Set(a.map(({ text }) => text)).size < a.length
  const isCounted = repeats && gold._tag === "List"
  if (!areNamed(a) || areNamed(b)) return sameItems(a, b, rules, isCounted)
  // Values of several unknowns are ordered, unlike sets and alternatives.
  return prediction._tag === "List" && prediction.connective !== "or" && sameSequence(a, b, rules)
}

/** The components of a vector: a tuple, or a matrix with one row or column. */
const componentsOf = (answer: Answer): ReadonlyArray<Answer> | undefined => {
  if (answer._tag === "Tuple") return answer.items
  if (answer._tag !== "Matrix" || answer.kind !== "matrix") return undefined
  return answer.rows.length === 1
    ? answer.rows[0]
    : answer.rows.every((row) => row.length === 1)
      ? answer.rows.flat()
      : undefined
}

/** `(1,2)` and the column of 1 and 2 are the same vector; a row and a column are different matrices. */
const sameVector = (gold: Answer, prediction: Answer, rules: Rules): boolean => {
  const [a, b] = [componentsOf(gold), componentsOf(prediction)]
  return a !== undefined && b !== undefined && sameSequence(a, b, rules)
}

const isSingle = ({ _tag }: Answer): boolean => _tag === "Leaf" || _tag === "Ratio" || _tag === "Words"

export const compare = (gold: Answer, prediction: Answer, rules: Rules): boolean => {
  if (gold.text === prediction.text && gold.text !== "" && gold._tag === prediction._tag) return true
  // `\frac{1}{2} \text{ or } 0.5` states one value in two ways.
  if (prediction._tag === "List" && prediction.connective === "or" && isSingle(gold)) {
    return prediction.items.every((item) => compare(gold, item, rules))
  }
  if (gold._tag === "Relation" && prediction._tag === "Relation") return compareRelations(gold, prediction, rules)
  if (gold._tag === "Relation") {
    // `\sqrt{2} \approx 1.41` is answered by either side.
    if (prediction._tag === "Leaf" && CompareLeaves.isApproximated(prediction, gold, rules)) return true
    const named = assignment(gold, false)
    if (named !== undefined) return compare(named.value, prediction, rules)
    if (prediction._tag === "List") return isInequality(gold) && Inequalities.areOne(prediction, gold)
    const unknown = RealSet.fromInequality(gold)?.name
    if (prediction._tag === "Membership" && unknown !== undefined && prediction.element !== unknown) return false
    return (isRealSet(prediction) || prediction._tag === "Tuple") && isInequality(gold) && sameRealSet(gold, prediction)
  }
  if (prediction._tag === "Relation") {
    const answered = assignment(prediction, gold._tag === "Leaf")
    if (answered !== undefined && compare(gold, answered.value, rules)) return true
    if (gold._tag === "Leaf" && CompareLeaves.isApproximated(gold, prediction, rules)) return true
    if (answered !== undefined) return false
    if (gold._tag === "List") return isInequality(prediction) && Inequalities.areOne(gold, prediction)
    return (
      (rules.acceptsInequalities || prediction.isSet) &&
      (isRealSet(gold) || (prediction.isSet && gold._tag === "Tuple")) &&
      isInequality(prediction) &&
      sameRealSet(gold, prediction)
    )
  }
  if (gold._tag === "List" && gold.items.some(isInequality) && (isRealSet(prediction) || prediction._tag === "Tuple"))
    return Inequalities.areSolvedBy(gold, prediction)
  if (gold._tag === "Membership" && prediction._tag === "Membership") {
    return gold.element === prediction.element && compare(gold.set, prediction.set, rules)
  }
  if (gold._tag === "Membership") return isSet(gold.set) && compare(gold.set, prediction, rules)
  if (prediction._tag === "Membership") return isSetOfUnknown(prediction) && compare(gold, prediction.set, rules)
  if (gold._tag === "Leaf" && prediction._tag === "Leaf") return CompareLeaves.areEqual(gold, prediction, rules)
  if (gold._tag === "Tuple" && prediction._tag === "Tuple") return sameSequence(gold.items, prediction.items, rules)
  if (gold._tag === "Ratio" && prediction._tag === "Ratio") return compareRatios(gold, prediction)
  if (gold._tag === "Ratio" && prediction._tag === "Leaf") return isQuotient(gold, prediction)
  if (gold._tag === "Matrix" && prediction._tag === "Matrix") {
    return (
      gold.kind === prediction.kind &&
      gold.rows.length === prediction.rows.length &&
      gold.rows.every((row, i) => sameSequence(row, prediction.rows[i] ?? [], rules))
    )
  }
  if ((gold._tag === "Matrix") !== (prediction._tag === "Matrix")) return sameVector(gold, prediction, rules)
  if ((isRealSet(gold) || isRealSet(prediction)) && sameRealSet(gold, prediction)) return true
  if (compareIntervals(gold, prediction, rules)) return true
  return compareLists(gold, prediction, rules)
}
