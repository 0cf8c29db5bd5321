/** Jinja's filters of lists and dicts; those that return a generator in Python return one here. */
import * as Attributes from "./Attributes.ts"
import { binary } from "./Operators.ts"
import type { Filter } from "./TextFilters.ts"
import {
  type Arguments,
  compare,
  equals,
  Generator,
  Group,
  hashable,
  isNumber,
  iterate,
  lengthOf,
  numberOf,
  refuse,
  truth,
  Tuple,
  typeOf,
  Undefined,
  type Value,
  View
} from "./Values.ts"
import { bind, str } from "./Written.ts"

/** Filters and tests by name, with their arguments. */
export interface Library {
  readonly filter: (name: string, value: Value, given: Arguments) => Value
  readonly test: (name: string, value: Value, given: Arguments) => boolean
}

const none: Arguments = { positional: [], named: new Map() }

/** Sort key: the item or its attribute, strings optionally case-insensitive. */
const keyOf = (attribute: Value, isCaseSensitive: Value): ((one: Value) => Value) => {
  const get = attribute === undefined || attribute === null ? (one: Value) => one : Attributes.path(attribute)
  return (one) => {
    const value = get(one)
    return typeof value === "string" && isCaseSensitive !== true ? value.toLowerCase() : value
  }
}

const sorted = (items: ReadonlyArray<Value>, key: (one: Value) => Value, isReversed: boolean): ReadonlyArray<Value> => {
  const keyed = items.map((one) => ({ one, key: key(one) }))
  keyed.sort((a, b) => (isReversed ? compare(b.key, a.key) : compare(a.key, b.key)))
  return keyed.map(({ one }) => one)
}

const sort: Filter = (value, given) => {
  const {
    attribute,
    case_sensitive: isCaseSensitive,
    reverse
  } = bind("sort", given, ["reverse", "case_sensitive", "attribute"])
  // A list also of one, so that items without the attribute are equal.
  const several = typeof attribute === "string" ? attribute.split(",") : undefined
  const key =
    several === undefined
      ? keyOf(attribute, isCaseSensitive)
      : (one: Value) => several.map((each) => keyOf(each, isCaseSensitive)(one))
  return [...sorted(iterate(value), key, truth(reverse ?? false))]
}

const groupby: Filter = (value, given) => {
  const {
    attribute,
    case_sensitive: isCaseSensitive,
    default: otherwise
  } = bind("groupby", given, ["attribute", "default", "case_sensitive"])
  const get = Attributes.path(attribute)
  const own = (one: Value) => {
    const found = get(one)
    return found instanceof Undefined && otherwise !== undefined ? otherwise : found
  }
  const key = (one: Value) => {
    const found = own(one)
    return typeof found === "string" && isCaseSensitive !== true ? found.toLowerCase() : found
  }
  const groups: Array<[key: Value, own: Value, items: Array<Value>]> = []
  for (const one of sorted(iterate(value), key, false)) {
    const last = groups.at(-1)
    if (last !== undefined && equals(last[0], key(one))) last[2].push(one)
    else groups.push([key(one), own(one), [one]])
  }
  return groups.map(([, grouper, items]) => new Group([grouper, items]))
}

const dictsort: Filter = (value, given) => {
  const {
    by = "key",
    case_sensitive: isCaseSensitive,
    reverse
  } = bind("dictsort", given, ["case_sensitive", "by", "reverse"])
  if (!(value instanceof Map)) return refuse(`'${typeOf(value)}' object has no attribute 'items'`)
  const place = by === "key" ? 0n : by === "value" ? 1n : refuse('You can only sort by either "key" or "value"')
  const pairs = Array.from(value, ([key, one]) => new Tuple([key, one]))
  return [...sorted(pairs, keyOf(place, isCaseSensitive), truth(reverse ?? false))]
}

const extreme =
  (sign: 1 | -1): Filter =>
  (value, given) => {
    const { attribute, case_sensitive: isCaseSensitive } = bind("min", given, ["case_sensitive", "attribute"])
    const key = keyOf(attribute, isCaseSensitive)
    const items = iterate(value)
    if (items.length === 0) return new Undefined("No aggregated item, sequence was empty: it")
    return items.reduce((best, one) => (sign * compare(key(one), key(best)) < 0 ? one : best))
  }

const batch: Filter = (value, given) => {
  const { fill_with: fill, linecount } = bind("batch", given, ["linecount", "fill_with"])
  const size = isNumber(linecount) ? Number(numberOf(linecount)) : refuse("batch() needs a count")
  const items = iterate(value)
  const lines = Array.from({ length: Math.ceil(items.length / size) }, (_, at) =>
    items.slice(at * size, (at + 1) * size)
  )
  const last = lines.at(-1)
  if (last !== undefined && fill !== undefined && fill !== null) {
    lines[lines.length - 1] = [...last, ...Array.from({ length: size - last.length }, () => fill)]
  }
  return new Generator(lines)
}

const slices: Filter = (value, given) => {
  const { fill_with: fill, slices: count } = bind("slice", given, ["slices", "fill_with"])
  const parts = isNumber(count) ? Number(numberOf(count)) : refuse("slice() needs a count")
  const items = iterate(value)
  const [each, longer] = [Math.floor(items.length / parts), items.length % parts]
  return new Generator(
    Array.from({ length: parts }, (_, at) => {
      const start = at * each + Math.min(at, longer)
      const part = items.slice(start, start + each + (at < longer ? 1 : 0))
      return fill !== undefined && fill !== null && longer > 0 && at >= longer ? [...part, fill] : part
    })
  )
}

const unique: Filter = (value, given) => {
  const { attribute, case_sensitive: isCaseSensitive } = bind("unique", given, ["case_sensitive", "attribute"])
  const key = keyOf(attribute, isCaseSensitive)
  const seen: Array<Value> = []
  return new Generator(
    iterate(value).filter((one) => {
      const own = hashable(key(one))
      if (seen.some((before) => equals(before, own))) return false
      seen.push(own)
      return true
    })
  )
}

/** Items that a test selects or rejects, tested directly or by an attribute. */
const selecting =
  (library: Library, hasAttribute: boolean, isKept: boolean): Filter =>
  (value, { named, positional }) => {
    const [get, rest] = hasAttribute
      ? [Attributes.path(positional[0]), positional.slice(1)]
      : [(one: Value) => one, positional]
    const [name, ...others] = rest
    const holds = (one: Value): boolean =>
      name === undefined ? truth(one) : library.test(str(name), one, { positional: others, named })
    return new Generator(iterate(value).filter((one) => holds(get(one)) === isKept))
  }

const map =
  (library: Library): Filter =>
  (value, { named, positional }) => {
    if (positional.length === 0 && named.has("attribute")) {
      const get = Attributes.path(named.get("attribute"))
      const otherwise = named.get("default")
      return new Generator(
        iterate(value).map((one) => {
          const found = get(one)
          return found instanceof Undefined && otherwise !== undefined ? otherwise : found
        })
      )
    }
    const [name, ...rest] = positional
    if (typeof name !== "string") return refuse("map requires a filter argument")
    return new Generator(iterate(value).map((one) => library.filter(name, one, { positional: rest, named })))
  }

const first: Filter = (value) => {
  const next =
    value instanceof Generator ? value.next() : iterate(value).length > 0 ? { value: iterate(value)[0] } : undefined
  return next === undefined ? new Undefined("No first item, sequence was empty: it") : next.value
}

const last: Filter = (value) => {
  if (value instanceof Generator) return refuse("'generator' object is not reversible")
  const items = iterate(value)
  return items.length > 0 ? items.at(-1) : new Undefined("No last item, sequence was empty: it")
}

const otherwise: Filter = (value, given) => {
  const { boolean = false, default_value: fallback = "" } = bind("default", given, ["default_value", "boolean"])
  return value instanceof Undefined || (truth(boolean) && !truth(value)) ? fallback : value
}

export const listFilters = (library: Library): { readonly [name: string]: Filter } => ({
  attr: (value, { positional: [name] }) => Attributes.member(value, str(name)),
  batch,
  count: (value) => lengthOf(value),
  d: otherwise,
  default: otherwise,
  dictsort,
  first,
  groupby,
  items: (value) => {
    if (value instanceof Undefined) return new Generator([])
    if (!(value instanceof Map)) return refuse("Can only get item pairs from a mapping.")
    return new Generator(Array.from(value, ([key, one]) => new Tuple([key, one])))
  },
  join: (value, given) => {
    const { attribute, d = "" } = bind("join", given, ["d", "attribute"])
    const get = attribute === undefined || attribute === null ? (one: Value) => one : Attributes.path(attribute)
    return iterate(value)
      .map((one) => str(get(one)))
      .join(str(d))
  },
  last,
  length: (value) => lengthOf(value),
  list: (value) => [...iterate(value)],
  map: map(library),
  max: extreme(-1),
  min: extreme(1),
  reject: selecting(library, false, false),
  rejectattr: selecting(library, true, false),
  reverse: (value) =>
    typeof value === "string"
      ? Array.from(value).toReversed().join("")
      : value instanceof Generator || value instanceof View
        ? [...iterate(value)].toReversed()
        : new Generator([...iterate(value)].toReversed()),
  select: selecting(library, false, true),
  selectattr: selecting(library, true, true),
  slice: slices,
  sort,
  sum: (value, given) => {
    const { attribute, start = 0n } = bind("sum", given, ["attribute", "start"])
    const get = attribute === undefined || attribute === null ? (one: Value) => one : Attributes.path(attribute)
    if (typeof start === "string") return refuse("sum() can't sum strings")
    return iterate(value).reduce((sum: Value, one) => binary("+", sum, get(one)), start)
  },
  unique
})

export { none as noArguments }
