/** Jinja's filters of strings and numbers. */
import * as StringMethods from "./StringMethods.ts"
import {
  type Arguments,
  isIterable,
  isNumber,
  iterate,
  numberOf,
  refuse,
  truth,
  Tuple,
  typeOf,
  Undefined,
  type Value
} from "./Values.ts"
import { bind, json, percent, str } from "./Written.ts"

export type Filter = (value: Value, given: Arguments) => Value

const places = (value: Value, otherwise: number): number =>
  value === undefined || value === null
    ? otherwise
    : isNumber(value)
      ? Number(numberOf(value))
      : refuse(`an int is expected, not ${typeOf(value)}`)

/** Rounds half to even at this precision, like Python. */
const rounded = (value: number, precision: number): number => {
  if (!Number.isFinite(value) || value === 0) return value
  if (precision < 0) {
    const unit = 10 ** -precision
    return rounded(value / unit, 0) * unit
  }
  if (precision > 60) return value
  const nearest = value.toFixed(precision)
  // An exact half shows within these additional digits.
  const behind = Math.abs(value)
    .toFixed(precision + 30)
    .slice(-30)
  if (!/^50*$/.test(behind)) return Number(nearest)
  const unit = 10 ** -precision
  const last = Number(nearest.replace(".", "").at(-1))
  return last % 2 === 0 ? Number(nearest) : Number((Number(nearest) - Math.sign(value) * unit).toFixed(precision))
}

const round: Filter = (value, given) => {
  const { method = "common", precision } = bind("round", given, ["precision", "method"])
  if (value instanceof Undefined) return value.fail()
  if (!isNumber(value)) return refuse(`type ${typeOf(value)} doesn't define __round__ method`)
  const [number, digits] = [numberOf(value), places(precision, 0)]
  if (method === "common") {
    if (typeof number !== "bigint") return rounded(number, digits)
    if (digits >= 0) return number
    const unit = 10n ** BigInt(-digits)
    const rest = ((number % unit) + unit) % unit
    const below = number - rest
    const isUp = rest * 2n > unit || (rest * 2n === unit && (below / unit) % 2n !== 0n)
    return isUp ? below + unit : below
  }
  if (method !== "ceil" && method !== "floor") return refuse("method must be common, ceil or floor")
  const unit = 10 ** digits
  // Plus 0: an int of Python has no minus zero.
  return ((method === "ceil" ? Math.ceil : Math.floor)(Number(number) * unit) + 0) / unit
}

const int: Filter = (value, given) => {
  const { base = 10n, default: otherwise = 0n } = bind("int", given, ["default", "base"])
  if (value instanceof Undefined) return value.fail()
  if (isNumber(value)) {
    const number = numberOf(value)
    return typeof number === "bigint" ? number : Number.isFinite(number) ? BigInt(Math.trunc(number)) : otherwise
  }
  if (typeof value !== "string") return otherwise
  const text = StringMethods.strip(value, undefined, "both").replace(/(?<=\d)_(?=\d)/g, "")
  const [, sign = "", digits = ""] = /^([+-]?)(?:0[xXoObB])?([\da-zA-Z]+)$/.exec(text) ?? []
  const radix = places(base, 10)
  const isWhole =
    digits !== "" &&
    Array.from(digits).every((digit) => Number.parseInt(digit, 36) < radix) &&
    (radix !== 10 || /^[+-]?\d+$/.test(text))
  if (isWhole) {
    const whole = Array.from(digits).reduce(
      (sum, digit) => sum * BigInt(radix) + BigInt(Number.parseInt(digit, 36)),
      0n
    )
    return sign === "-" ? -whole : whole
  }
  const number = asFloat(text)
  return number === undefined || !Number.isFinite(number) ? otherwise : BigInt(Math.trunc(number))
}

const asFloat = (given: string): number | undefined => {
  const text = StringMethods.strip(given, undefined, "both")
  if (/^[+-]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)) return Number(text.replaceAll("_", ""))
  const [, sign, word] = /^([+-]?)(inf|infinity|nan)$/i.exec(text) ?? []
  return word === undefined
    ? undefined
    : word.toLowerCase() === "nan"
      ? Number.NaN
      : sign === "-"
        ? -Infinity
        : Infinity
}

const float: Filter = (value, given) => {
  const { default: otherwise = 0 } = bind("float", given, ["default"])
  if (value instanceof Undefined) return value.fail()
  if (isNumber(value)) return Number(numberOf(value))
  return typeof value === "string" ? (asFloat(value) ?? otherwise) : otherwise
}

const entities: { readonly [character: string]: string } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  "'": "&#39;",
  '"': "&#34;"
}
const escape: Filter = (value) => str(value).replace(/[&<>'"]/g, (one) => entities[one]!)

const title: Filter = (value) =>
  str(value)
    // oxlint-disable-next-line no-control-regex -- blanks of Python
    .split(/([-\s\x1c-\x1f\x85({[<]+)/)
    .map((part) => {
      const [first = "", ...rest] = Array.from(part)
      return first.toUpperCase() + rest.join("").toLowerCase()
    })
    .join("")

const indent: Filter = (value, given) => {
  const { blank = false, first = false, width = 4n } = bind("indent", given, ["width", "first", "blank"])
  if (typeof value !== "string") return refuse(`indent() expects a str, not ${typeOf(value)}`)
  const by = typeof width === "string" ? width : " ".repeat(places(width, 4))
  const [head = "", ...rest] = StringMethods.lines(`${value}\n`)
  const others = rest.map((line) => (line === "" && blank !== true ? line : by + line))
  return [first === true ? by + head : head, ...others].join("\n")
}

const truncate: Filter = (value, given) => {
  const {
    end = "...",
    killwords = false,
    leeway,
    length
  } = bind("truncate", given, ["length", "killwords", "end", "leeway"])
  if (value instanceof Undefined) return value
  if (typeof value !== "string") return refuse(`truncate() expects a str, not ${typeOf(value)}`)
  const points = Array.from(value)
  const [most, tail] = [places(length, 255), str(end)]
  if (points.length <= most + places(leeway, 5)) return value
  const cut = points.slice(0, most - Array.from(tail).length).join("")
  return (killwords === true || !cut.includes(" ") ? cut : cut.slice(0, cut.lastIndexOf(" "))) + tail
}

const tojson: Filter = (value, given) => {
  const {
    ensure_ascii: isAscii = false,
    indent: by,
    separators,
    sort_keys: sortKeys = false
  } = bind("tojson", given, ["ensure_ascii", "indent", "separators", "sort_keys"])
  const indented = typeof by === "bigint" ? " ".repeat(Number(by)) : typeof by === "string" ? by : undefined
  const pair = separators instanceof Tuple ? separators.items : Array.isArray(separators) ? separators : undefined
  return json(value, {
    indent: indented,
    separators: pair === undefined ? [indented === undefined ? ", " : ",", ": "] : [str(pair[0]), str(pair[1])],
    sortKeys: truth(sortKeys),
    isAscii: truth(isAscii)
  })
}

const quotedPart = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)

const urlencode: Filter = (value) => {
  if (typeof value === "string" || !isIterable(value)) return quotedPart(str(value)).replaceAll("%2F", "/")
  const pairs = value instanceof Map ? [...value] : iterate(value).map(iterate)
  return pairs
    .map((pair) => {
      const [key, one] = pair
      return pair.length === 2
        ? `${quotedPart(str(key))}=${quotedPart(str(one))}`
        : refuse(`urlencode() expects pairs, not ${pair.length} values`)
    })
    .join("&")
    .replaceAll("%20", "+")
}

export const textFilters: { readonly [name: string]: Filter } = {
  abs: (value) => {
    if (!isNumber(value)) return refuse(`bad operand type for abs(): '${typeOf(value)}'`)
    const number = numberOf(value)
    return typeof number === "number" ? Math.abs(number) : number < 0n ? -number : number
  },
  capitalize: (value) => StringMethods.capitalize(str(value)),
  center: (value, given) => {
    const { width = 80n } = bind("center", given, ["width"])
    return StringMethods.methodOf("center")!(str(value), { positional: [width], named: new Map() })
  },
  e: escape,
  escape,
  forceescape: escape,
  float,
  format: (value, { named, positional }) => percent(str(value), positional, named),
  indent,
  int,
  lower: (value) => str(value).toLowerCase(),
  replace: (value, given) => {
    const { count, new: by, old } = bind("replace", given, ["old", "new", "count"])
    return StringMethods.replace(str(value), str(old), str(by), places(count, -1))
  },
  round,
  safe: (value) => str(value),
  string: (value) => str(value),
  title,
  tojson,
  trim: (value, given) => {
    const { chars } = bind("trim", given, ["chars"])
    return StringMethods.strip(str(value), chars === undefined || chars === null ? undefined : str(chars), "both")
  },
  truncate,
  upper: (value) => str(value).toUpperCase(),
  urlencode,
  wordcount: (value) => BigInt(Array.from(str(value).matchAll(/[\p{L}\p{N}_]+/gu)).length)
}
