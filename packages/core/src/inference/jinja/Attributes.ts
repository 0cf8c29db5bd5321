/** Looks up attributes and items of values: attributes first with a dot, items first with brackets, as in Jinja. */
import { methodOf } from "./StringMethods.ts"
import {
  Callable,
  equals,
  Group,
  item,
  Namespace,
  refuse,
  Tuple,
  typeOf,
  Undefined,
  type Arguments,
  type Value,
  View
} from "./Values.ts"

/** Methods that modify a value, which templates may not do. */
const changing = {
  list: ["append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"],
  dict: ["clear", "pop", "popitem", "setdefault", "update"]
}

const unsafe = (of: Value, name: string): Undefined =>
  new Undefined(`the attribute '${name}' of '${typeOf(of)}' object is unsafe, so it`)

const countOf = (items: ReadonlyArray<Value>, one: Value): bigint =>
  BigInt(items.filter((each) => equals(each, one)).length)

const indexOf = (items: ReadonlyArray<Value>, one: Value): bigint => {
  const at = items.findIndex((each) => equals(each, one))
  return at === -1 ? refuse("the value is not in the list") : BigInt(at)
}

type Methods = { readonly [name: string]: (given: Arguments) => Value }

const ofList = (items: ReadonlyArray<Value>): Methods => ({
  count: ({ positional: [one] }) => countOf(items, one),
  index: ({ positional: [one] }) => indexOf(items, one),
  copy: () => [...items]
})

const ofDict = (map: ReadonlyMap<Value, Value>): Methods => ({
  get: ({ positional: [key, otherwise = null] }) =>
    item(map, key)?.value ?? (item(map, key) === undefined ? otherwise : null),
  keys: () => new View("dict_keys", [...map.keys()]),
  values: () => new View("dict_values", [...map.values()]),
  items: () =>
    new View(
      "dict_items",
      Array.from(map, ([key, one]) => new Tuple([key, one]))
    ),
  copy: () => new Map(map)
})

const methodsOf = (of: Value): Methods => {
  if (Array.isArray(of)) return ofList(of)
  if (of instanceof Tuple) return ofList(of.items)
  if (of instanceof Map) return ofDict(of)
  return typeof of === "number" ? { is_integer: () => Number.isInteger(of) } : {}
}

/** An attribute in Python's sense; undefined if none of that name. */
const attribute = (of: Value, name: string): { readonly value: Value } | undefined => {
  if (of instanceof Namespace) return of.members.has(name) ? { value: of.members.get(name) } : undefined
  if (of instanceof Callable) {
    const own = of.attributes.get(name)
    return own && { value: own() }
  }
  if (of instanceof Group && (name === "grouper" || name === "list"))
    return { value: of.items[name === "list" ? 1 : 0] }
  if (typeof of === "string") {
    const method = methodOf(name)
    return method && { value: new Callable(name, (given) => method(of, given)) }
  }
  const kind = Array.isArray(of) ? "list" : of instanceof Map ? "dict" : undefined
  if (kind !== undefined && changing[kind].includes(name)) return { value: unsafe(of, name) }
  const methods = methodsOf(of)
  return Object.hasOwn(methods, name) ? { value: new Callable(name, methods[name]!) } : undefined
}

const missing = (of: Value, key: Value): Undefined =>
  new Undefined(
    `'${typeOf(of)} object' has no attribute ${typeof key === "string" ? `'${key}'` : String(key)} and so it`
  )

export const member = (of: Value, name: string): Value => {
  if (of instanceof Undefined) return of.fail()
  if (name.startsWith("__")) return unsafe(of, name)
  return (attribute(of, name) ?? item(of, name) ?? { value: missing(of, name) }).value
}

export const at = (of: Value, key: Value): Value => {
  if (of instanceof Undefined) return of.fail()
  const found = item(of, key) ?? (typeof key === "string" ? attribute(of, key) : undefined)
  return (found ?? { value: missing(of, key) }).value
}

/** Lookup by filters in each item: `function.name`, or an index. */
export const path = (given: Value): ((of: Value) => Value) => {
  const keys =
    typeof given === "string" ? given.split(".").map((key) => (/^\d+$/.test(key) ? BigInt(key) : key)) : [given]
  return (of) => keys.reduce((value: Value, key) => at(value, key), of)
}
