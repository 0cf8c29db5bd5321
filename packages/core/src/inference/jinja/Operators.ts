/** Python's arithmetic: ints are exact, `/` gives floats, `//` and `%` round down. */
import {
  compare,
  contains,
  equals,
  isNumber,
  numberOf,
  refuse,
  Tuple,
  typeOf,
  Undefined,
  type Value
} from "./Values.ts"
import { percent, str } from "./Written.ts"

type Number_ = bigint | number

const isInt = (a: Number_, b: Number_): boolean => typeof a === "bigint" && typeof b === "bigint"

const floorDivide = (a: bigint, b: bigint): bigint => {
  const quotient = a / b
  return a % b !== 0n && a < 0n !== b < 0n ? quotient - 1n : quotient
}

const remainder = (a: number, b: number): number => {
  const rest = a % b
  if (rest === 0) return b < 0 ? -0 : 0
  return rest < 0 !== b < 0 ? rest + b : rest
}

/** Larger factors and exponents do not occur in prompts. */
const maxRepeats = 1_000_000

const times = (count: Value): number => {
  const number = Number(count)
  return number > maxRepeats ? refuse(`a value is repeated ${number} times`) : Math.max(0, number)
}

const arithmetic = (operator: string, a: Number_, b: Number_): Value => {
  const [x, y] = [Number(a), Number(b)]
  if (["/", "//", "%"].includes(operator) && y === 0) return refuse("division by zero")
  if (isInt(a, b)) {
    const [m, n] = [a as bigint, b as bigint]
    switch (operator) {
      case "+":
        return m + n
      case "-":
        return m - n
      case "*":
        return m * n
      case "//":
        return floorDivide(m, n)
      case "%":
        return m - n * floorDivide(m, n)
      case "**":
        return n < 0n ? x ** y : n > 4096n ? refuse("an exponent is too large") : m ** n
      default:
        return x / y
    }
  }
  switch (operator) {
    case "+":
      return x + y
    case "-":
      return x - y
    case "*":
      return x * y
    case "//":
      return Math.floor(x / y)
    case "%":
      return remainder(x, y)
    case "**": {
      const power = x ** y
      const isFinite = Number.isFinite(power) || !Number.isFinite(x) || !Number.isFinite(y)
      return isFinite ? power : refuse("a power is too large for a float")
    }
    default:
      return x / y
  }
}

/** Undefined if the value cannot be repeated, or not that often. */
const repeated = (value: Value, count: Value): Value => {
  if (typeof count !== "bigint" && typeof count !== "boolean") return undefined
  if (typeof value === "string") return value.repeat(times(numberOf(count)))
  const many = (items: ReadonlyArray<Value>) => Array.from({ length: times(numberOf(count)) }, () => items).flat()
  if (Array.isArray(value)) return many(value)
  return value instanceof Tuple ? new Tuple(many(value.items)) : undefined
}

export const binary = (operator: string, a: Value, b: Value): Value => {
  if (a instanceof Undefined) return a.fail()
  if (operator === "%" && typeof a === "string") {
    return percent(a, b instanceof Tuple ? b.items : b instanceof Map ? [] : [b], b instanceof Map ? b : new Map())
  }
  if (b instanceof Undefined) return b.fail()
  if (isNumber(a) && isNumber(b)) return arithmetic(operator, numberOf(a), numberOf(b))
  if (operator === "+") {
    if (typeof a === "string" && typeof b === "string") return a + b
    if (Array.isArray(a) && Array.isArray(b)) return [...a, ...b]
    if (a instanceof Tuple && b instanceof Tuple) return new Tuple([...a.items, ...b.items])
    if (typeof a === "string") return refuse(`can only concatenate str (not "${typeOf(b)}") to str`)
  }
  const many = operator === "*" ? (repeated(a, b) ?? repeated(b, a)) : undefined
  return many ?? refuse(`unsupported operand type(s) for ${operator}: '${typeOf(a)}' and '${typeOf(b)}'`)
}

export const unary = (operator: "-" | "+", value: Value): Value => {
  if (value instanceof Undefined) return value.fail()
  if (!isNumber(value)) return refuse(`bad operand type for unary ${operator}: '${typeOf(value)}'`)
  const number = numberOf(value)
  return operator === "-" ? -number : number
}

export const compared = (operator: string, a: Value, b: Value): boolean => {
  switch (operator) {
    case "==":
      return equals(a, b)
    case "!=":
      return !equals(a, b)
    case "in":
      return contains(b, a)
    case "not in":
      return !contains(b, a)
    case "<":
      return compare(a, b, operator) < 0
    case "<=":
      return compare(a, b, operator) <= 0
    case ">":
      return compare(a, b, operator) > 0
    default:
      return compare(a, b, operator) >= 0
  }
}

export const concat = (values: ReadonlyArray<Value>): string => values.map(str).join("")
