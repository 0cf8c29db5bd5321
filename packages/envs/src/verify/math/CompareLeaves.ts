/**
 * Decides if two quantities are equal: exactly, as a rounded decimal, and with or without percent.
 *
 * Percent: n and n% answer each other, and n never answers n/100, except if the reference itself is written in the
 * other form. A reference in percent may be answered by its value (`25\%` by `0.25`); one that is a fraction, or a
 * decimal below 1, has the percentage of its value (`0.25` and `\frac{1}{4}` are `25\%`). So every reference without a
 * percent sign has one percentage. A quantity with a unit has none.
 */
import { type Leaf, type Relation, withoutPercent, worth } from "./Answer.ts"
import * as ExpressionValue from "./ExpressionValue.ts"
import * as Exact from "./expression/Exact.ts"
import { apply, number, type Expression } from "./expression/Expression.ts"
import * as Units from "./Units.ts"

export interface Rules {
  /**
   * A decimal with at least this many digits after the point, and as many significant ones, may be a rounding of the
   * number: `0.333333` for 1/3. With fewer digits it is taken literally.
   */
  readonly decimalPlaces: number
  /**
   * True if `1 < x < 2` is accepted for the gold answer `(1, 2)`. Default false, because the question often states it.
   */
  readonly acceptsInequalities: boolean
}

export const defaultRules: Rules = { decimalPlaces: 6, acceptsInequalities: false }

const ten = Exact.fromInteger(10)

const distance = (a: Expression, b: Expression): Expression => apply("Abs", apply("Subtract", a, b))

/** True if a decimal with enough digits is within half a unit of its last digit from the other number. */
const isRounding = (decimal: Leaf, exact: Expression, rules: Rules): boolean => {
  const value = decimal.expression?._tag === "Number" ? decimal.expression.value : undefined
  const places = decimal.decimalPlaces
  if (value === undefined || places === undefined || places < rules.decimalPlaces) return false
  const unit = Exact.power(ten, BigInt(-places))
  const digits = unit === undefined ? undefined : Exact.divide(Exact.absoluteValue(value), unit)
  if (unit === undefined || digits === undefined || digits.numerator.toString().length < rules.decimalPlaces)
    return false
  return isWithin(decimal, exact, half)
}

const half: Exact.Rational = { numerator: 1n, denominator: 2n }

/** True if a decimal is within this many units of its last digit from a number. */
const isWithin = (decimal: Leaf, exact: Expression, units: Exact.Rational): boolean => {
  const step = Exact.power(ten, BigInt(-(decimal.decimalPlaces ?? 0)))
  const bound = step === undefined ? undefined : Exact.multiply(step, units)
  const written = worth(decimal)
  if (bound === undefined || written === undefined) return false
  const order = ExpressionValue.order(distance(exact, written), worth({ ...decimal, expression: number(bound) })!)
  return order !== undefined && order <= 0
}

/** True if the prediction is the digits alone of a reference in another base (`11000_2`), which its question names. */
const isWithoutBase = ({ expression, text }: Leaf, prediction: Leaf): boolean =>
  expression?._tag === "Call" &&
  expression.name === "base" &&
  text.slice(0, text.indexOf("_")).toLowerCase() === prediction.text.toLowerCase()

const areSame = (gold: Leaf, prediction: Leaf, rules: Rules): boolean => {
  if (isWithoutBase(gold, prediction)) return true
  const [a, b] = [worth(gold), worth(prediction)]
  if (a === undefined || b === undefined) return false
  if (ExpressionValue.equivalent(a, b)) return true
  return isRounding(gold, b, rules) || isRounding(prediction, a, rules)
}

/** True if a number is written as a share of one, and not as a count of percent. */
const isShare = ({ decimalPlaces, expression, text }: Leaf): boolean => {
  if (expression?._tag !== "Number") return true
  const { value } = expression
  if (decimalPlaces !== undefined)
    return Exact.compare(Exact.absoluteValue(value), Exact.one) < 0 && !Exact.isZero(value)
  return !Exact.isInteger(value) && !/^-?\d+(?:\s?\\frac|\s\d+\/)/.test(text)
}

/** True if `prediction` is the same quantity as `gold`. */
export const areEqual = (gold: Leaf, prediction: Leaf, rules: Rules): boolean => {
  if (!Units.areCompatible(gold.unit, prediction.unit)) return false
  if (gold.isPercent === prediction.isPercent) return areSame(gold, prediction, rules)
  if ((gold.isPercent ? prediction : gold).unit !== undefined) return false
  const asWritten = () => areSame(withoutPercent(gold), withoutPercent(prediction), rules)
  if (gold.isPercent) return asWritten() || areSame(gold, prediction, rules)
  return isShare(gold) ? areSame(gold, prediction, rules) : asWritten()
}

/** `\pi \approx 3.14` answers both sides, if the second is the rounded first. */
export const isApproximated = (gold: Leaf, { operators, sides }: Relation, rules: Rules): boolean => {
  const [exact, decimal] = sides.slice(-2)
  if (operators.at(-1) !== "\\approx" || operators.indexOf("\\approx") !== operators.length - 1) return false
  if (exact?._tag !== "Leaf" || decimal?._tag !== "Leaf" || decimal.expression?._tag !== "Number") return false
  const value = worth(exact)
  if (value === undefined || !ExpressionValue.isConstant(value) || !isWithin(decimal, value, half)) return false
  const isOnly = sides.length === 2
  return areEqual(gold, decimal, rules) || (isOnly && areEqual(gold, exact, rules))
}
