/** Formats values like Python: `str`, `repr`, `json.dumps` and `%`. */
import {
  type Arguments,
  Callable,
  Generator,
  Namespace,
  numberOf,
  isNumber,
  refuse,
  Tuple,
  typeOf,
  Undefined,
  type Value,
  View
} from "./Values.ts"

const escapes: { readonly [character: string]: string } = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" }

const coded = (character: string): string => {
  const code = character.codePointAt(0) ?? 0
  const digits = code < 0x100 ? 2 : code < 0x10000 ? 4 : 8
  return `\\${digits === 2 ? "x" : digits === 4 ? "u" : "U"}${code.toString(16).padStart(digits, "0")}`
}

/** A string in quotes: single ones, unless it contains only those; non-printable characters are escaped. */
const quoted = (text: string): string => {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  const inner = text.replace(/[\\'\p{C}\p{Z}]/gu, (character) => {
    if (character === " ") return character
    if (character === "'") return quote === "'" ? "\\'" : "'"
    return escapes[character] ?? coded(character)
  })
  return `${quote}${inner}${quote}`
}

/** A float, always recognizable as one. */
export const float = (value: number): string => {
  if (Number.isNaN(value)) return "nan"
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf"
  if (Object.is(value, -0)) return "-0.0"
  const size = Math.abs(value)
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2")
  return Number.isInteger(value) ? `${value}.0` : String(value)
}

export const repr = (value: Value): string => {
  if (typeof value === "string") return quoted(value)
  if (Array.isArray(value)) return `[${value.map(repr).join(", ")}]`
  if (value instanceof Map) return `{${Array.from(value, ([key, one]) => `${repr(key)}: ${repr(one)}`).join(", ")}}`
  if (value instanceof Tuple)
    return value.items.length === 1 ? `(${repr(value.items[0])},)` : `(${value.items.map(repr).join(", ")})`
  if (value instanceof Undefined) return "Undefined"
  return str(value)
}

/** As `{{ value }}` writes it. */
export const str = (value: Value): string => {
  if (typeof value === "string") return value
  if (value === null) return "None"
  if (typeof value === "boolean") return value ? "True" : "False"
  if (typeof value === "bigint") return String(value)
  if (typeof value === "number") return float(value)
  if (value instanceof Undefined) return ""
  if (value instanceof View) {
    return value.text ?? `${value.kind}([${value.items.map(repr).join(", ")}])`
  }
  if (value instanceof Callable || value instanceof Generator || value instanceof Namespace) {
    return refuse(`a ${typeOf(value)} cannot be written into a prompt`)
  }
  return repr(value)
}

export interface JsonOptions {
  readonly indent: string | undefined
  readonly separators: readonly [item: string, key: string]
  readonly sortKeys: boolean
  readonly isAscii: boolean
}

/** Control characters are only escaped below space. */
const jsonCharacter = (one: string): string =>
  one < " " || one === '"' || one === "\\" ? JSON.stringify(one).slice(1, -1) : one

const jsonText = (text: string, isAscii: boolean): string => {
  const written = `"${text.replace(/["\\\p{Cc}]/gu, jsonCharacter)}"`
  return isAscii
    ? written.replace(/[\u0080-\uffff]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`)
    : written
}

const jsonNumber = (value: number): string =>
  Number.isNaN(value) ? "NaN" : Number.isFinite(value) ? float(value) : value > 0 ? "Infinity" : "-Infinity"

const keyOf = (key: Value, isAscii: boolean): string => {
  if (typeof key === "string") return jsonText(key, isAscii)
  if (key === null || isNumber(key)) return `"${json(key, compact, 0)}"`
  return refuse(`keys must be str, int, float, bool or None, not ${typeOf(key)}`)
}

const compact: JsonOptions = { indent: undefined, separators: [", ", ": "], sortKeys: false, isAscii: false }

/** As `json.dumps` writes it. */
export const json = (value: Value, options: JsonOptions, depth = 0): string => {
  if (value === null) return "null"
  if (typeof value === "boolean" || typeof value === "bigint") return String(value)
  if (typeof value === "number") return jsonNumber(value)
  if (typeof value === "string") return jsonText(value, options.isAscii)
  const { indent, separators } = options
  const [outer, inner] =
    indent === undefined ? ["", ""] : [`\n${indent.repeat(depth)}`, `\n${indent.repeat(depth + 1)}`]
  const wrapped = (open: string, parts: ReadonlyArray<string>, close: string) =>
    parts.length === 0 ? `${open}${close}` : `${open}${inner}${parts.join(`${separators[0]}${inner}`)}${outer}${close}`
  if (Array.isArray(value) || value instanceof Tuple) {
    const items = Array.isArray(value) ? value : value.items
    return wrapped(
      "[",
      items.map((one) => json(one, options, depth + 1)),
      "]"
    )
  }
  if (!(value instanceof Map)) return refuse(`Object of type ${typeOf(value)} is not JSON serializable`)
  const entries = [...value] as ReadonlyArray<readonly [Value, Value]>
  const sorted = options.sortKeys ? entries.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)) : entries
  return wrapped(
    "{",
    sorted.map(([key, one]) => `${keyOf(key, options.isAscii)}${separators[1]}${json(one, options, depth + 1)}`),
    "}"
  )
}

const directive = /%(?:\((\w+)\))?([-+ 0#]*)([1-9]\d*)?(?:\.(\d+))?([a-zA-Z%])/g

const padded = (text: string, flags: string, width: number): string =>
  flags.includes("-")
    ? text.padEnd(width)
    : flags.includes("0") && /^[-+ ]?[\d.]/.test(text)
      ? text.replace(/^([-+ ]?)/, (sign) => sign + "0".repeat(Math.max(0, width - text.length)))
      : text.padStart(width)

/** Max decimal places that JavaScript writes. */
const maxPlaces = 100

/** A number with so many places; a tie, such as 2.25 with one, goes to the even digit as in Python. */
const fixed = (value: number, places: number): string => {
  if (!Number.isFinite(value)) return float(value)
  if (Object.is(value, -0)) return `-${(0).toFixed(places)}`
  if (places > maxPlaces - 1) return refuse(`%.${places}f has too many places`)
  if (Math.abs(value) >= 1e21) return `${BigInt(value)}${places > 0 ? `.${"0".repeat(places)}` : ""}`
  const text = value.toFixed(places)
  // Doubles with a tie have few places: all of them are in this text.
  const all = value.toFixed(maxPlaces)
  const rest = all.slice(all.indexOf(".") + 1 + places)
  const isUp = /^50*$/.test(rest) && /[13579]$/.test(text)
  return isUp ? all.slice(0, all.length - rest.length).replace(/\.$/, "") : text
}

const integer = (value: bigint | number): string =>
  typeof value === "bigint" || Number.isFinite(value)
    ? String(typeof value === "bigint" ? value : BigInt(Math.trunc(value)))
    : refuse(`cannot convert float ${float(value)} to integer`)

export const percent = (format: string, values: ReadonlyArray<Value>, byName: ReadonlyMap<Value, Value>): string => {
  let used = 0
  const written = format.replace(
    directive,
    (
      whole,
      name: string | undefined,
      flags: string,
      width: string | undefined,
      places: string | undefined,
      kind: string
    ) => {
      if (kind === "%") return "%"
      if (name === undefined && used >= values.length) return refuse("not enough arguments for format string")
      const value = name === undefined ? values[used++] : byName.get(name)
      const number = (): bigint | number =>
        isNumber(value) ? numberOf(value) : refuse(`%${kind} format: a real number is required, not ${typeOf(value)}`)
      const text = (): string => {
        switch (kind) {
          case "s":
            return places === undefined ? str(value) : Array.from(str(value)).slice(0, Number(places)).join("")
          case "r":
            return repr(value)
          case "d":
          case "i":
            return integer(number())
          case "f":
          case "F":
            return fixed(Number(number()), Number(places ?? 6))
          case "x":
            return number().toString(16)
          case "X":
            return number().toString(16).toUpperCase()
          default:
            return refuse(`%${kind} is not supported in ${whole}`)
        }
      }
      if (flags.includes("#") && kind !== "s" && kind !== "r") return refuse(`# is not supported in ${whole}`)
      const sign = flags.includes("+") ? "+" : flags.includes(" ") ? " " : ""
      const isSigned = sign !== "" && "difF".includes(kind)
      const bare = text()
      return padded(isSigned && !bare.startsWith("-") ? sign + bare : bare, flags, Number(width ?? 0))
    }
  )
  return byName.size === 0 && used < values.length
    ? refuse("not all arguments converted during string formatting")
    : written
}

/** Binds the arguments of a call to parameter names; rejects extra or unknown ones. */
export const bind = (
  label: string,
  given: Arguments,
  names: ReadonlyArray<string>
): { readonly [name: string]: Value } => {
  if (given.positional.length > names.length) return refuse(`${label}() takes at most ${names.length} arguments`)
  const bound: Record<string, Value> = Object.fromEntries(given.positional.map((value, at) => [names[at]!, value]))
  for (const [name, value] of given.named) {
    if (!names.includes(name)) return refuse(`${label}() got an unexpected keyword argument '${name}'`)
    bound[name] = value
  }
  return bound
}
