/** Jinja's tests, `value is name`. */
import { binary, compared } from "./Operators.ts"
import { methodOf } from "./StringMethods.ts"
import {
  type Arguments,
  Callable,
  contains,
  equals,
  isIterable,
  isNumber,
  numberOf,
  Range,
  refuse,
  Tuple,
  typeOf,
  Undefined,
  type Value
} from "./Values.ts"
import { str } from "./Written.ts"

export type Test = (value: Value, given: Arguments) => boolean

const comparing =
  (operator: string): Test =>
  (value, { positional: [other] }) =>
    compared(operator, value, other)

const parity =
  (rest: bigint): Test =>
  (value) => {
    if (value instanceof Undefined) return value.fail()
    return isNumber(value)
      ? equals(binary("%", numberOf(value), 2n), rest)
      : refuse(`'${typeOf(value)}' is not a number`)
  }

const cased =
  (name: "isupper" | "islower"): Test =>
  (value) =>
    methodOf(name)!(str(value), { positional: [], named: new Map() }) === true

const eq = comparing("==")
const [lt, le, gt, ge] = [comparing("<"), comparing("<="), comparing(">"), comparing(">=")]
const ne = comparing("!=")

export const tests: { readonly [name: string]: Test } = {
  boolean: (value) => typeof value === "boolean",
  callable: (value) => value instanceof Callable || value instanceof Undefined,
  defined: (value) => !(value instanceof Undefined),
  divisibleby: (value, { positional: [by] }) => equals(binary("%", value, by), 0n),
  eq,
  equalto: eq,
  escaped: () => false,
  even: parity(0n),
  false: (value) => value === false,
  float: (value) => typeof value === "number",
  ge,
  greaterthan: gt,
  gt,
  in: (value, { positional: [all] }) => contains(all, value),
  integer: (value) => typeof value === "bigint",
  iterable: isIterable,
  le,
  lessthan: lt,
  lower: cased("islower"),
  lt,
  mapping: (value) => value instanceof Map,
  ne,
  none: (value) => value === null,
  number: isNumber,
  odd: parity(1n),
  sameas: (value, { positional: [other] }) => value === other,
  // In Python a dict has a length and items, and so does Jinja's undefined value.
  sequence: (value) =>
    typeof value === "string" ||
    Array.isArray(value) ||
    [Map, Tuple, Undefined].some((kind) => value instanceof kind) ||
    value instanceof Range,
  string: (value) => typeof value === "string",
  true: (value) => value === true,
  undefined: (value) => value instanceof Undefined,
  upper: cased("isupper")
}

/** Operator aliases of tests. */
export const signs: { readonly [sign: string]: string } = {
  "==": "eq",
  "!=": "ne",
  "<": "lt",
  "<=": "le",
  ">": "gt",
  ">=": "ge"
}
