/**
 * Represents sets of real numbers as unions of intervals with decided endpoints, for answers such as `[-1, 2) \cup (2,
 * \infty)` or `1 \leq |z| < 3`.
 *
 * Everything is normalized (disjoint pieces in ascending order, fully merged), so that equal sets have equal pieces.
 * Endpoints with unknowns, and undecided orders, make the set undefined ("undecided").
 */
import type { Answer } from "./Answer.ts"
import * as ExpressionValue from "./ExpressionValue.ts"
import * as Exact from "./expression/Exact.ts"
import * as Value from "./Value.ts"

/** An endpoint: a number, or an infinity. */
type End = Value.Value | "-infinity" | "+infinity"

interface Piece {
  readonly low: End
  readonly high: End
  readonly isLowClosed: boolean
  readonly isHighClosed: boolean
}

export type RealSet = ReadonlyArray<Piece>

/** Bounds the pairwise comparisons of pieces. */
const maxPieces = 40

const all: RealSet = [{ low: "-infinity", high: "+infinity", isLowClosed: false, isHighClosed: false }]

/** -1, 0 or 1; undefined if the order of two numbers is undecided. */
const compare = (a: End, b: End): number | undefined => {
  if (a === b) return 0
  if (a === "-infinity" || b === "+infinity") return -1
  if (a === "+infinity" || b === "-infinity") return 1
  const difference = Value.subtract(a, b)
  return difference === undefined ? undefined : Value.sign(difference)
}

export const endOf = (answer: Answer): End | undefined => {
  if (answer._tag !== "Leaf" || answer.expression === undefined) return undefined
  if (answer.expression._tag === "Infinity") return answer.expression.isNegative ? "-infinity" : "+infinity"
  const value = ExpressionValue.constant(answer.expression)
  return value === undefined ? undefined : Value.multiply(value, Value.exact(answer.scale))
}

/** One number. */
export const point = (value: End): Piece => ({ low: value, high: value, isLowClosed: true, isHighClosed: true })

/** One interval; empty if its ends are in the wrong order, undefined if their order is undecided. */
const interval = (low: End, high: End, isLowClosed: boolean, isHighClosed: boolean): RealSet | undefined => {
  const order = compare(low, high)
  if (order === undefined) return undefined
  if (order > 0 || (order === 0 && !(isLowClosed && isHighClosed))) return []
  return [
    { low, high, isLowClosed: isLowClosed && low !== "-infinity", isHighClosed: isHighClosed && high !== "+infinity" }
  ]
}

/** The complement. The pieces must be in order. */
const complement = (set: RealSet): RealSet | undefined => {
  const pieces: Array<Piece> = []
  let low: End = "-infinity"
  let isLowClosed = false
  for (const piece of set) {
    const gap = interval(low, piece.low, isLowClosed, !piece.isLowClosed && piece.low !== "-infinity")
    if (gap === undefined) return undefined
    pieces.push(...gap)
    low = piece.high
    isLowClosed = !piece.isHighClosed
  }
  const last = low === "+infinity" ? [] : interval(low, "+infinity", isLowClosed && low !== "-infinity", false)
  return last === undefined ? undefined : [...pieces, ...last]
}

/** Sorts and merges pieces. */
export const union = (a: RealSet, b: RealSet): RealSet | undefined => {
  const rest: Array<Piece> = [...a, ...b]
  if (rest.length > maxPieces) return undefined
  if (
    rest.some((x) => rest.some((y) => compare(x.low, y.low) === undefined || compare(x.high, y.high) === undefined))
  ) {
    return undefined
  }
  rest.sort((x, y) => (compare(x.low, y.low) ?? 0) || Number(y.isLowClosed) - Number(x.isLowClosed))
  const merged: Array<Piece> = []
  for (const next of rest) {
    const last = merged.at(-1)
    const gap = last === undefined ? 1 : compare(next.low, last.high)
    if (gap === undefined) return undefined
    if (last === undefined || gap > 0 || (gap === 0 && !next.isLowClosed && !last.isHighClosed)) {
      merged.push(next)
      continue
    }
    const order = compare(next.high, last.high) ?? 0
    const isHighClosed =
      order > 0 ? next.isHighClosed : order < 0 ? last.isHighClosed : last.isHighClosed || next.isHighClosed
    merged[merged.length - 1] = { ...last, high: order > 0 ? next.high : last.high, isHighClosed }
  }
  return merged
}

/** By De Morgan's law. */
export const intersection = (a: RealSet, b: RealSet): RealSet | undefined => {
  const [outsideA, outsideB] = [complement(a), complement(b)]
  if (outsideA === undefined || outsideB === undefined) return undefined
  const outside = union(outsideA, outsideB)
  return outside === undefined ? undefined : complement(outside)
}

/** True if the answer is the set of all real numbers. */
export const isReals = (answer: Answer): boolean => /^\\(?:mathbb\{?R\}?|R|Reals)$|^allrealnumbers$/.test(answer.text)

/** The union of listed intervals, `[0,1], (2,\infty)`; pairs of numbers in parentheses alone may be points. */
const ofIntervals = (items: ReadonlyArray<Answer>): RealSet | undefined => {
  const areSets = items.every(({ _tag }) => _tag === "Interval" || _tag === "Tuple" || _tag === "SetOperation")
  const isClear = items.some(
    (item) => item._tag !== "Tuple" || item.items.some((end) => typeof endOf(end) === "string")
  )
  if (!areSets || !isClear) return undefined
  return items.reduce<RealSet | undefined>((set, item) => {
    const next = set && fromAnswer(item)
    return set && next && union(set, next)
  }, [])
}

/** The set that an answer denotes: interval, finite set, operation, membership or the real numbers. */
export const fromAnswer = (answer: Answer): RealSet | undefined => {
  switch (answer._tag) {
    case "Interval":
      return written(answer.low, answer.high, answer.isLowClosed, answer.isHighClosed)
    case "Tuple": {
      const [low, high] = answer.items
      return answer.items.length !== 2 || low === undefined || high === undefined
        ? undefined
        : written(low, high, false, false)
    }
    case "Set": {
      let set: RealSet | undefined = []
      for (const item of answer.items) {
        const value = endOf(item)
        if (value === undefined || typeof value === "string" || set === undefined) return undefined
        set = union(set, [point(value)])
      }
      return set
    }
    case "SetOperation": {
      const [left, right] = [fromAnswer(answer.left), fromAnswer(answer.right)]
      if (left === undefined || right === undefined) return undefined
      if (answer.operator === "union") return union(left, right)
      const other = answer.operator === "intersection" ? right : complement(right)
      return other === undefined ? undefined : intersection(left, other)
    }
    case "List":
      return ofIntervals(answer.items)
    case "Membership":
      return answer.set._tag === "Leaf" && !isReals(answer.set) ? undefined : fromAnswer(answer.set)
    case "Relation":
      return fromInequality(answer)?.set
    default:
      return isReals(answer) ? all : undefined
  }
}

/** The operator with its sides swapped. */
const flipped = {
  "<": ">",
  ">": "<",
  "\\leq": "\\geq",
  "\\geq": "\\leq",
  "\\neq": "\\neq",
  "=": "=",
  "\\approx": "\\approx"
} as const

/** The reals x with `x operator bound`. */
const half = (operator: keyof typeof flipped, bound: End): RealSet | undefined => {
  switch (operator) {
    case "<":
    case "\\leq":
      return interval("-infinity", bound, false, operator === "\\leq")
    case ">":
    case "\\geq":
      return interval(bound, "+infinity", operator === "\\geq", false)
    case "\\neq":
      return complement([point(bound)])
    default:
      return undefined
  }
}

/**
 * An interval as written in an answer: with ends in the wrong order it is not an interval, but may be a point in the
 * plane.
 */
const written = (low: Answer, high: Answer, isLowClosed: boolean, isHighClosed: boolean): RealSet | undefined => {
  const [from, to] = [endOf(low), endOf(high)]
  if (from === undefined || to === undefined) return undefined
  // No real number is infinite: such an end cannot be closed.
  if ((isLowClosed && from === "-infinity") || (isHighClosed && to === "+infinity")) return undefined
  const set = interval(from, to, isLowClosed, isHighClosed)
  return set?.length === 0 ? undefined : set
}

/** The symbol (or value of an unknown function) that an answer is, possibly as an absolute value. */
export const unknown = (answer: Answer): { readonly name: string; readonly isAbsolute: boolean } | undefined => {
  const expression = answer._tag === "Leaf" ? answer.expression : undefined
  if (expression?._tag === "Symbol") return { name: expression.name, isAbsolute: false }
  if (expression?._tag === "Call") return { name: answer.text, isAbsolute: false }
  const [argument] = expression?._tag === "Apply" && expression.operator === "Abs" ? expression.args : []
  return argument?._tag === "Symbol" ? { name: argument.name, isAbsolute: true } : undefined
}

/** The endpoint mirrored at zero. */
const mirror = (end: End): End =>
  end === "-infinity" ? "+infinity" : end === "+infinity" ? "-infinity" : Value.negate(end)

/** `|x| < b` is `-b < x < b`; `|x| > b` is `x < -b` or `x > b`. */
const absolute = (operator: keyof typeof flipped, bound: End): RealSet | undefined => {
  const upper = half(operator, bound)
  const nonNegative: RealSet = [
    { low: Value.exact(Exact.zero), high: "+infinity", isLowClosed: true, isHighClosed: false }
  ]
  const right = upper === undefined ? undefined : intersection(upper, nonNegative)
  const left = right
    ?.map((piece) => ({
      low: mirror(piece.high),
      high: mirror(piece.low),
      isLowClosed: piece.isHighClosed,
      isHighClosed: piece.isLowClosed
    }))
    .toReversed()
  return left === undefined || right === undefined ? undefined : union(left, right)
}

/** The solutions of a chain such as `1 \leq |z| < 3` with one isolated unknown, and the unknown's name. */
export const fromInequality = (
  relation: Extract<Answer, { _tag: "Relation" }>
): { readonly name: string; readonly set: RealSet } | undefined => {
  let set: RealSet | undefined = all
  let name: string | undefined
  for (const [i, operator] of relation.operators.entries()) {
    const [left, right] = [relation.sides[i], relation.sides[i + 1]]
    if (left === undefined || right === undefined || set === undefined) return undefined
    const variable = unknown(left) ?? unknown(right)
    const bound = endOf(unknown(left) === undefined ? left : right)
    if (variable === undefined || bound === undefined || (name !== undefined && name !== variable.name))
      return undefined
    name = variable.name
    const direction = unknown(left) === undefined ? flipped[operator] : operator
    const solutions = variable.isAbsolute ? absolute(direction, bound) : half(direction, bound)
    set = solutions === undefined ? undefined : intersection(set, solutions)
  }
  return set === undefined || name === undefined ? undefined : { name, set }
}

const sameEnd = (a: End, b: End): boolean =>
  typeof a === "string" || typeof b === "string" ? a === b : Value.equals(a, b)

/** True if two normalized sets are equal. */
export const equals = (a: RealSet, b: RealSet): boolean =>
  a.length === b.length &&
  a.every((piece, i) => {
    const other = b[i]
    return (
      other !== undefined &&
      sameEnd(piece.low, other.low) &&
      sameEnd(piece.high, other.high) &&
      piece.isLowClosed === other.isLowClosed &&
      piece.isHighClosed === other.isHighClosed
    )
  })
