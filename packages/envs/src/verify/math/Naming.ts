/**
 * Finds names and their values: `x = 1 + 1 = 2 \approx 2.0` gives x the value 2.
 *
 * Only possible names of quantities count: letters with indices, `f(2)`, `\angle ABC`, words that neither deny nor
 * compute. `\ln x` does not, as `\ln x = 5` is an unsolved equation; `x = 6 = 5` gives x no value.
 */
import { type Answer, type Relation, worth } from "./Answer.ts"
import * as ExpressionValue from "./ExpressionValue.ts"
import { type Expression, symbols } from "./expression/Expression.ts"
import * as Units from "./Units.ts"
import * as Wording from "../text/Wording.ts"

/** Commands used in names, and those of quantities. */
const commands = new Set(
  (
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi rho sigma tau upsilon phi varphi chi psi " +
    "omega Gamma Delta Theta Lambda Xi Sigma Phi Psi Omega ell angle measuredangle triangle overline overrightarrow vec hat bar tilde widehat " +
    "mathbf boldsymbol mathcal mathbb text prime max min gcd lcm det deg dim"
  ).split(" ")
)

/** Quantities with their own notation: a limit with its target, a derivative, a quotient of names. */
const quantities =
  /\\lim_\{(?=[^{}]*\\to)[^{}]*\}|\\frac\s?\{d(?:\^\{\d\})?\s?[a-zA-Z]?\}\{d\s?[a-zA-Z](?:\^\{\d\})?\}|\\frac(?=\s?\{?\s?[a-zA-Z])/g

/**
 * True if a normalised side can be the name of a quantity: letters, optionally with indices and arguments, and no
 * arithmetic.
 */
export const isName = (side: string): boolean => {
  if (side.length > 200 || !Wording.isNeutral(side) || /percent|pct/i.test(side)) return false
  const bare = side
    .replaceAll(quantities, "q")
    .replaceAll(/_(?:\{[^{}]*\}|[a-zA-Z\d])/g, "")
    .replaceAll(/(?<=[a-zA-Z'])\([^()]*\)/g, "")
    .replaceAll(/\|([A-Z]{2})\|/g, "$1")
  const used = [...bare.matchAll(/\\([a-zA-Z]+|[^])/g)].map(([, name = ""]) => name)
  const letters = bare.replaceAll(
    /\\(?:angle|measuredangle|triangle|over[a-z]+|vec|hat|bar|tilde|widehat|math[a-z]+|boldsymbol|text|prime)/g,
    ""
  )
  return /[a-zA-Z]/.test(letters) && /^[a-zA-Z\\{}()[\]',:.\s]*$/.test(bare) && used.every((name) => commands.has(name))
}

/**
 * A sum or similar of several unknowns: `x + y = 5` answers "what is x + y". With one unknown, with coefficients, or
 * with zero on the other side it is an unsolved equation.
 */
const isQuantity = (answer: Answer, value: Answer): boolean =>
  answer._tag === "Leaf" &&
  answer.expression !== undefined &&
  symbols(answer.expression).size > 1 &&
  !/\d/.test(answer.text.replaceAll(/[\^_](?:\{\d+\}|\d)/g, "")) &&
  !(value._tag === "Leaf" && value.expression !== undefined && ExpressionValue.isZero(value.expression))

/** The number that an answer is; undefined for anything with an unknown in it. */
const constantOf = (answer: Answer) => {
  const expression = answer._tag === "Leaf" ? worth(answer) : undefined
  return expression !== undefined && ExpressionValue.isConstant(expression) ? expression : undefined
}

/** True for a numeric answer, and for one without unknowns. */
export const isConstant = (answer: Answer): boolean => answer._tag !== "Leaf" || constantOf(answer) !== undefined

const isSameConstant = (a: Answer, b: Answer): boolean => {
  const [x, y] = [constantOf(a), constantOf(b)]
  return x !== undefined && y !== undefined && ExpressionValue.equivalent(x, y)
}

const isPlain = (side: Answer): boolean => side._tag === "Leaf" && side.expression?._tag === "Number"

/**
 * True if the sides of a chain are consistent with its value: a plain number among them must be the value, unless a
 * calculation among them has the value too (`x = 5+5+1 = 7 = 11` has a slip in it). Sides with unknowns or other units
 * are ignored.
 */
const leavesStanding = (sides: ReadonlyArray<Answer>, value: Answer): boolean => {
  const comparable = sides.filter(
    (side) =>
      side._tag === "Leaf" &&
      constantOf(side) !== undefined &&
      !(value._tag === "Leaf" && !Units.areCompatible(side.unit, value.unit))
  )
  return (
    comparable.every((side) => !isPlain(side) || isSameConstant(side, value)) ||
    comparable.some((side) => !isPlain(side) && isSameConstant(side, value))
  )
}

export interface Assignment {
  readonly name: Answer
  readonly value: Answer
}

/** `xx` and `ex` are not names but `x^2` and a multiple of x. */
const isMultiple = ({ text }: Answer): boolean => {
  const letters = text.replaceAll(/_(?:\{[^{}]*\}|[a-zA-Z\d])/g, "")
  return /^[a-zA-Z]{2,}$/.test(letters) && new Set(letters.replaceAll(/[ei]/g, "")).size <= 1
}

/** Name and value of a chain of equalities; the value is the last side before an approximation. */
export const assignment = (relation: Relation, allowsQuantity: boolean): Assignment | undefined => {
  const { areNames, operators, sides } = relation
  const [first] = sides
  // An incomplete chain has no value.
  if (sides.some((side) => side.text === "")) return undefined
  if (first === undefined || operators.some((operator) => operator !== "=" && operator !== "\\approx")) return undefined
  if (sides.length === 2 && operators[0] === "=" && areNames[0] === false && areNames[1] === true && isConstant(first))
    return { name: sides[1]!, value: first }
  const approximation = operators.indexOf("\\approx")
  const last = approximation > 0 ? approximation : sides.length - 1
  const value = sides[approximation === 0 ? 1 : last]
  if (value === undefined || (approximation !== 0 && !leavesStanding(sides.slice(1, last), value))) return undefined
  const isCalculation = allowsQuantity && sides.slice(0, last).every((side) => isSameConstant(side, value))
  return (areNames[0] === true && !isMultiple(first)) || isCalculation || (allowsQuantity && isQuantity(first, value))
    ? { name: first, value }
    : undefined
}

const argumentOf = ({ name }: Assignment) => /^([a-zA-Z])\(([a-z])\)$/.exec(name.text) ?? []

const renamed = (expression: Expression, from: string, to: string): Expression => {
  if (expression._tag === "Symbol") return expression.name === from ? { ...expression, name: to } : expression
  return "args" in expression
    ? { ...expression, args: expression.args.map((one) => renamed(one, from, to)) }
    : expression
}

/**
 * The value of an assignment to the same function as `gold`, in its argument: `f(t) = t^2` is `f(x) = x^2`. Undefined
 * for another function, and if the argument occurs as another unknown.
 */
export const inArgumentOf = (gold: Assignment, other: Assignment): Answer | undefined => {
  const [, f, to] = argumentOf(gold)
  const [, g, from] = argumentOf(other)
  if (f === undefined || f !== g || to === undefined || from === undefined) return undefined
  const { value } = other
  if (isConstant(gold.value) && isConstant(value)) return value
  if (from === to || value._tag !== "Leaf" || value.expression === undefined) return undefined
  const unknowns = symbols(value.expression)
  if (value.expression._tag === "Series" || unknowns.has(to) || !unknowns.has(from)) return undefined
  return { ...value, text: `${value.text} of ${to}`, expression: renamed(value.expression, from, to) }
}
