/**
 * Python's values in Jinja templates: `bigint` for int, `number` for float, strings, booleans, `null` for None, arrays
 * for lists, maps for dicts, and the classes defined here. Truth, equality, order and iteration are Python's.
 */
import { Predicate } from "effect"
import * as ExactJson from "../../base/json/ExactJson.ts"
import * as KeyOrder from "../../base/json/KeyOrder.ts"

export type Value = unknown

/** An operation that Python rejects. */
export class PythonError extends Error {
  override readonly name = "PythonError"
}

export const refuse = (message: string): never => {
  throw new PythonError(message)
}

/** Jinja's undefined value: prints as an empty string, and rejects any use. */
export class Undefined {
  readonly what: string
  constructor(what: string) {
    this.what = what
  }
  fail(): never {
    return refuse(`${this.what} is undefined`)
  }
}

export class Tuple {
  readonly items: ReadonlyArray<Value>
  constructor(items: ReadonlyArray<Value>) {
    this.items = items
  }
}

/** A pair returned by `groupby`. */
export class Group extends Tuple {}

/** `dict.items()`, `range()` and the like: has a length and can be iterated repeatedly. */
export class View {
  readonly kind: string
  readonly items: ReadonlyArray<Value>
  /** Python's representation, if it is not derived from the items. */
  readonly text: string | undefined
  constructor(kind: string, items: ReadonlyArray<Value>, text?: string) {
    this.kind = kind
    this.items = items
    this.text = text
  }
}

/** `range(start, stop, step)`; the caller limits its length. */
export class Range extends View {
  readonly start: bigint
  readonly step: bigint
  constructor(start: bigint, stop: bigint, step: bigint) {
    const items = Array.from({ length: Number(rangeLength(start, stop, step)) }, (_, at) => start + BigInt(at) * step)
    super("range", items, `range(${start}, ${stop}${step === 1n ? "" : `, ${step}`})`)
    this.start = start
    this.step = step
  }
}

export const rangeLength = (start: bigint, stop: bigint, step: bigint): bigint => {
  const [distance, by] = step > 0n ? [stop - start, step] : [start - stop, -step]
  return distance > 0n ? (distance + by - 1n) / by : 0n
}

/** Can be iterated once, and has no length. */
export class Generator {
  private readonly source: ReadonlyArray<Value>
  private at = 0
  constructor(source: ReadonlyArray<Value>) {
    this.source = source
  }
  next(): { readonly value: Value } | undefined {
    return this.at < this.source.length ? { value: this.source[this.at++] } : undefined
  }
  rest(): ReadonlyArray<Value> {
    const rest = this.source.slice(this.at)
    this.at = this.source.length
    return rest
  }
}

export class Namespace {
  readonly members: Map<string, Value>
  constructor(members: Map<string, Value>) {
    this.members = members
  }
}

export interface Arguments {
  readonly positional: ReadonlyArray<Value>
  readonly named: ReadonlyMap<string, Value>
}

export class Callable {
  readonly label: string
  readonly call: (given: Arguments) => Value
  /** Its other attributes by name. */
  readonly attributes: ReadonlyMap<string, () => Value>
  constructor(
    label: string,
    call: (given: Arguments) => Value,
    attributes: ReadonlyMap<string, () => Value> = new Map()
  ) {
    this.label = label
    this.call = call
    this.attributes = attributes
  }
}

/** Converts a JavaScript value for a template. */
export const from = (value: unknown): Value => {
  if (value === undefined) return null
  // JSON writes large ones as floats.
  if (typeof value === "number") return Number.isInteger(value) && Math.abs(value) < 1e21 ? BigInt(value) : value
  if (value instanceof ExactJson.Numeral) {
    return /^-?\d+$/.test(value.text) ? BigInt(value.text) : Number(value.text)
  }
  if (Array.isArray(value)) return value.map(from)
  if (value instanceof Map) return new Map(Array.from(value, ([key, one]) => [key, from(one)]))
  if (Predicate.isFunction(value)) {
    return new Callable(value.name, ({ positional }) =>
      from((value as (...all: ReadonlyArray<unknown>) => unknown)(...positional))
    )
  }
  if (value instanceof Callable || !Predicate.isObject(value)) return value
  return new Map(
    KeyOrder.entries(value).flatMap(([key, one]) => (one === undefined ? [] : [[key, from(one)] as const]))
  )
}

export const typeOf = (value: Value): string => {
  if (value === null) return "NoneType"
  if (typeof value === "bigint") return "int"
  if (typeof value === "number") return "float"
  if (typeof value === "boolean") return "bool"
  if (typeof value === "string") return "str"
  if (Array.isArray(value)) return "list"
  if (value instanceof Map) return "dict"
  if (value instanceof Tuple) return "tuple"
  if (value instanceof View) return value.kind
  if (value instanceof Generator) return "generator"
  if (value instanceof Undefined) return "Undefined"
  return value instanceof Namespace ? "Namespace" : "function"
}

export const isNumber = (value: Value): value is bigint | number | boolean =>
  typeof value === "bigint" || typeof value === "number" || typeof value === "boolean"

/** Normalizes a number; a boolean is an int. */
export const numberOf = (value: bigint | number | boolean): bigint | number =>
  typeof value === "boolean" ? (value ? 1n : 0n) : value

export const truth = (value: Value): boolean => {
  if (value === null || value === false || value === "" || value instanceof Undefined) return false
  if (isNumber(value)) return Number(value) !== 0
  if (Array.isArray(value)) return value.length > 0
  if (value instanceof Map) return value.size > 0
  return value instanceof Tuple || value instanceof View ? value.items.length > 0 : true
}

const areSame = (a: ReadonlyArray<Value>, b: ReadonlyArray<Value>): boolean =>
  a.length === b.length && a.every((one, at) => equals(one, b[at]))

export const equals = (a: Value, b: Value): boolean => {
  if (a === b) return true
  // An int and a float compare by value.
  // oxlint-disable-next-line eqeqeq -- the exact comparison of the language
  if (isNumber(a) && isNumber(b)) return numberOf(a) == numberOf(b)
  if (a instanceof Undefined && b instanceof Undefined) return true
  if (Array.isArray(a) && Array.isArray(b)) return areSame(a, b)
  if (a instanceof Tuple && b instanceof Tuple) return areSame(a.items, b.items)
  if (a instanceof View && b instanceof View) return a.kind === b.kind && areSame(a.items, b.items)
  if (!(a instanceof Map && b instanceof Map) || a.size !== b.size) return false
  return [...a].every(([key, one]) => b.has(key) && equals(one, b.get(key)))
}

/** Below, equal to or above 0, by code points. */
const compareTexts = (a: string, b: string): number => {
  const [x, y] = [Array.from(a), Array.from(b)]
  for (let at = 0; at < Math.min(x.length, y.length); at++) {
    const difference = x[at]!.codePointAt(0)! - y[at]!.codePointAt(0)!
    if (difference !== 0) return difference
  }
  return x.length - y.length
}

export const compare = (a: Value, b: Value, sign = "<"): number => {
  if (a instanceof Undefined) return a.fail()
  if (b instanceof Undefined) return b.fail()
  if (isNumber(a) && isNumber(b)) {
    const [x, y] = [numberOf(a), numberOf(b)]
    return x < y ? -1 : x > y ? 1 : x == y ? 0 : Number.NaN // oxlint-disable-line eqeqeq
  }
  if (typeof a === "string" && typeof b === "string") return compareTexts(a, b)
  const [x, y] = [a, b].map((one) => (one instanceof Tuple ? one.items : Array.isArray(one) ? one : undefined))
  if (x !== undefined && y !== undefined && typeOf(a) === typeOf(b)) {
    for (let at = 0; at < Math.min(x.length, y.length); at++)
      if (!equals(x[at], y[at])) return compare(x[at], y[at], sign)
    return x.length - y.length
  }
  return refuse(`'${sign}' not supported between instances of '${typeOf(a)}' and '${typeOf(b)}'`)
}

/** The items that a loop over the value iterates. */
export const iterate = (value: Value): ReadonlyArray<Value> => {
  if (Array.isArray(value)) return value
  if (typeof value === "string") return Array.from(value)
  if (value instanceof Map) return [...value.keys()]
  if (value instanceof Tuple || value instanceof View) return value.items
  if (value instanceof Generator) return value.rest()
  if (value instanceof Undefined) return []
  return refuse(`'${typeOf(value)}' object is not iterable`)
}

export const isIterable = (value: Value): boolean =>
  typeof value === "string" ||
  Array.isArray(value) ||
  [Map, Tuple, View, Generator, Undefined].some((kind) => value instanceof kind)

export const lengthOf = (value: Value): bigint => {
  if (value instanceof Generator || !isIterable(value)) return refuse(`object of type '${typeOf(value)}' has no len()`)
  return BigInt(iterate(value).length)
}

/** Lists, tuples and the characters of strings, which are indexable. */
const sequenceOf = (value: Value): ReadonlyArray<Value> | undefined =>
  typeof value === "string" || Array.isArray(value) || value instanceof Tuple || value instanceof Range
    ? iterate(value)
    : undefined

/** An item by its key or index; undefined if absent. */
export const item = (of: Value, key: Value): { readonly value: Value } | undefined => {
  if (of instanceof Map) {
    const exact = typeof key === "number" && Number.isInteger(key) ? BigInt(key) : key
    return of.has(exact) ? { value: of.get(exact) } : undefined
  }
  const all = sequenceOf(of)
  if (all === undefined || (typeof key !== "bigint" && typeof key !== "boolean")) return undefined
  const place = Number(key)
  const at = place < 0 ? all.length + place : place
  return at >= 0 && at < all.length ? { value: all[at] } : undefined
}

const whole = (value: Value): number | undefined => {
  if (value === undefined || value === null) return undefined
  if (typeof value === "bigint" || typeof value === "boolean") return Number(value)
  return refuse("slice indices must be integers or None or have an __index__ method")
}

/** A slice with Python's semantics; of the same type. */
export const slice = (of: Value, parts: ReadonlyArray<Value>): Value => {
  if (of instanceof Undefined) return of.fail()
  const all = sequenceOf(of)
  if (all === undefined) return refuse(`'${typeOf(of)}' object is not subscriptable`)
  const [start, stop, by] = parts.map(whole)
  const step = by ?? 1
  if (step === 0) return refuse("slice step cannot be zero")
  const bound = (given: number | undefined, otherwise: number): number => {
    if (given === undefined) return otherwise
    const from = given < 0 ? given + all.length : given
    return step > 0 ? Math.min(Math.max(from, 0), all.length) : Math.min(Math.max(from, -1), all.length - 1)
  }
  const [first, end] =
    step > 0 ? [bound(start, 0), bound(stop, all.length)] : [bound(start, all.length - 1), bound(stop, -1)]
  if (of instanceof Range) {
    const at = (place: number): bigint => of.start + BigInt(place) * of.step
    // Not that of `whole`, which may be rounded.
    return new Range(at(first), at(end), of.step * (typeof parts[2] === "bigint" ? parts[2] : BigInt(step)))
  }
  const taken: Array<Value> = []
  for (let at = first; step > 0 ? at < end : at > end; at += step) taken.push(all[at])
  if (typeof of === "string") return taken.join("")
  return of instanceof Tuple ? new Tuple(taken) : taken
}

/** Python's keys of dicts and members of sets cannot be lists or dicts. */
export const hashable = <A extends Value>(value: A): A => {
  if (value instanceof Tuple) value.items.forEach(hashable)
  return Array.isArray(value) || value instanceof Map || (value instanceof View && !(value instanceof Range))
    ? refuse(`unhashable type: '${typeOf(value)}'`)
    : value
}

export const contains = (all: Value, one: Value): boolean => {
  if (typeof all === "string") {
    if (typeof one !== "string") return refuse(`'in <string>' requires string as left operand, not ${typeOf(one)}`)
    return all.includes(one)
  }
  if (all instanceof Map) return item(all, one) !== undefined
  return iterate(all).some((each) => equals(each, one))
}
