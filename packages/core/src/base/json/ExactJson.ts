/**
 * Reads and writes JSON without changing its numbers: `JSON.parse` rounds integers beyond 2^53 and loses how a number
 * was written.
 *
 * `parse` gives values like Python: integers are exact at any length (a `bigint` beyond 2^53), fractions are doubles.
 * `parseWritten` also keeps the text: a number that `String` would write differently (`1.0`, `1e5`,
 * `2432902008176640001`) becomes a `Numeral`, which every `JSON.stringify` writes back unchanged; the order of keys is
 * recorded (`KeyOrder`), for templates and `write`. `plain` converts the second form to the first. Both throw
 * `SyntaxError` if `JSON.parse` does.
 */
import * as Predicate from "effect/Predicate"
import * as KeyOrder from "./KeyOrder.ts"

/** ES2026, in Node since 21; not yet in TypeScript's library. */
interface SourceJson {
  readonly parse: (
    text: string,
    revive: (key: string, value: unknown, context: { readonly source?: string }) => unknown
  ) => unknown
  readonly rawJSON: (text: string) => object
}
const json = JSON as unknown as SourceJson

/** A number as written in JSON. */
export class Numeral {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
  toString(): string {
    return this.text
  }
  toJSON(): object {
    return json.rawJSON(this.text)
  }
}

const integer = /^-?\d+$/

/** An integer as a `number` up to 2^53, beyond which `String` writes different digits. */
export const ofInteger = (value: bigint): number | bigint =>
  Number.isSafeInteger(Number(value)) ? Number(value) : value

const valueOf = (source: string): number | bigint => {
  const double = Number(source)
  return Number.isSafeInteger(double) || !integer.test(source) ? double : ofInteger(BigInt(source))
}

/**
 * Returns true if a `number` is written identically; never for an integer beyond 2^53, since a column of ids would
 * otherwise be of two types.
 */
const isPlain = (source: string): boolean => {
  const double = Number(source)
  return String(double) === source && (Number.isSafeInteger(double) || !integer.test(source))
}

/** A number from its text: a `number` if that is written identically. */
export const numeral = (source: string): number | Numeral => (isPlain(source) ? Number(source) : new Numeral(source))

/** A decimal of a column that declares its precision. */
export class Decimal extends Numeral {
  /** The number, or the text of one that a double would round. */
  get exact(): number | bigint | string {
    const value = valueOf(this.text)
    const digits = this.text.includes(".") ? this.text.replace(/(?<!0)0+$/, "").replace(/\.$/, "") : this.text
    // Every decimal of 15 digits survives as a double.
    const isShort = digits.replace(/^[-0.]+/, "").replace(".", "").length <= 15
    return isShort || typeof value === "bigint" || String(value) === digits ? value : this.text
  }
}

/** A decimal from its text: a `number` if that is written identically. */
export const decimal = (source: string): number | Numeral => (isPlain(source) ? Number(source) : new Decimal(source))

/** Runs of digits that a double may not represent. */
const long = /\d{16}/
/**
 * Like `long`, plus anything that may be written differently: exponents, trailing zeros, small fractions, minus zero.
 */
const unusual = /\d[\d.]{15}|\d[eE]|\.\d*0(?!\d)|0\.0{6}|-0/

export const parse = (text: string): unknown =>
  long.test(text)
    ? json.parse(text, (_, value, { source }) =>
        typeof value === "number" && source !== undefined ? valueOf(source) : value
      )
    : JSON.parse(text)

/** Digits without leading and trailing zeros, and the power of ten behind them: equal for numbers of equal value. */
const decimalOf = (text: string): string => {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const digits = (whole + fraction).replace(/^0+/, "")
  const ending = /(?<!0)0*$/.exec(digits)?.[0].length ?? 0
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(ending)
  return digits === "" ? "0" : `${sign}${digits.slice(0, digits.length - ending)}e${power}`
}

/** Longer integers are compared as decimals: `1e999999999` would take a gigabyte. */
const maxIntegerDigits = 1000

const exactOf = (source: string): number | bigint | Numeral => {
  const double = Number(source)
  const decimal = decimalOf(source)
  const isDouble = Number.isFinite(double) && (Number.isSafeInteger(double) || !Number.isInteger(double))
  // Minus zero is zero.
  if (isDouble && decimalOf(String(double)) === decimal) return double === 0 ? 0 : double
  const [digits = "", power] = decimal.split("e")
  const zeros = Number(power)
  return zeros >= 0 && digits.length + zeros <= maxIntegerDigits
    ? BigInt(digits + "0".repeat(zeros))
    : new Numeral(decimal)
}

/**
 * Like `parse`, but a number whose value a double changes (`0.10000000000000001`) is a `Numeral`, and every integer
 * beyond 2^53 (`1e19`) a `bigint`: equal numbers have equal values, and others do not.
 */
export const parseExact = (text: string): unknown =>
  json.parse(text, (_, value, { source }) =>
    typeof value === "number" && source !== undefined ? exactOf(source) : value
  )

export const parseWritten = (text: string): unknown => KeyOrder.remember(text, withNumerals(text))

const withNumerals = (text: string): unknown =>
  unusual.test(text)
    ? json.parse(text, (_, value, { source }) =>
        typeof value === "number" && source !== undefined ? numeral(source) : value
      )
    : JSON.parse(text)

const withNumbers = (value: unknown, numberOf: (numeral: Numeral) => unknown): unknown => {
  if (value instanceof Decimal) return value.exact
  if (value instanceof Numeral) return numberOf(value)
  if (Array.isArray(value)) {
    const all = value.map((one) => withNumbers(one, numberOf))
    return all.some((one, at) => one !== value[at]) ? all : value
  }
  if (!isRecord(value)) return value
  const entries = Object.entries(value).map(([key, one]) => [key, withNumbers(one, numberOf)] as const)
  return entries.some(([key, one]) => one !== value[key]) ? KeyOrder.copy(value, Object.fromEntries(entries)) : value
}

/** The value without numerals, as `parse` gives it; the same object if it has none. */
export const plain = (value: unknown): unknown => withNumbers(value, ({ text }) => valueOf(text))

/** Like `plain`, with the text of numbers beyond the range of a double, instead of infinity. */
export const plainOrText = (value: unknown): unknown =>
  withNumbers(value, (numeral) => (beyondDouble(numeral) === undefined ? valueOf(numeral.text) : numeral.text))

/** A number of the value, as written, that is beyond the range of a double; undefined if none is. */
export const beyondDouble = (value: unknown): string | undefined => {
  if (value instanceof Numeral) {
    return integer.test(value.text) || Number.isFinite(Number(value.text)) ? undefined : value.text
  }
  const inner = Array.isArray(value) ? value : isRecord(value) ? Object.values(value) : []
  for (const one of inner) {
    const found = typeof one === "object" ? beyondDouble(one) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

/** The value with a numeral for each `bigint`, for a library that calls `JSON.stringify`. */
export const sendable = (value: unknown): unknown => {
  if (typeof value === "bigint") return new Numeral(String(value))
  if (Array.isArray(value)) return value.map(sendable)
  return isRecord(value)
    ? KeyOrder.copy(value, Object.fromEntries(Object.entries(value).map(([key, one]) => [key, sendable(one)])))
    : value
}

/** Members whose numbers must be kept as written: tools and their arguments, schemas. */
const exact = new Set(
  "tools functions response_format structured_outputs guided_json text tool_config output_config output_format".split(
    " "
  )
)
const hasExact = new RegExp(`"(?:${[...exact, "input"].join("|")})"\\s*:`)

const isExact = (key: string, value: unknown): boolean =>
  // A list named `input` is a chat, an object is the arguments of a call.
  exact.has(key) || (key === "input" && isRecord(value))

/** The value with doubles for numerals, except in members that must be kept. */
const doubles = (value: unknown, keeps: (key: string, value: unknown) => boolean): unknown => {
  if (value instanceof Numeral) return Number(value.text)
  if (Array.isArray(value)) return value.map((one) => doubles(one, keeps))
  if (!isRecord(value)) return value
  return KeyOrder.copy(
    value,
    Object.fromEntries(Object.entries(value).map(([key, one]) => [key, keeps(key, one) ? one : doubles(one, keeps)]))
  )
}

/** Like `parseWritten` in members of these names, at any depth; all other numbers are doubles. */
export const parseKeeping = (text: string, names: ReadonlySet<string>): unknown =>
  doubles(parseWritten(text), (key) => names.has(key))

/**
 * Parses the body of a request to a model: its parameters are doubles; tools, schemas and arguments of calls have
 * numerals, which are rendered and sent on as written.
 */
export const parseRequest = (text: string): unknown =>
  !hasExact.test(text)
    ? JSON.parse(text)
    : unusual.test(text)
      ? doubles(parseWritten(text), isExact)
      : KeyOrder.remember(text, JSON.parse(text))

/** An object that JSON can represent, not bytes, a date or another instance. */
const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  Predicate.isObject(value) &&
  !Array.isArray(value) &&
  (Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null)

/**
 * JSON text of a value of either form, with keys in the order they were read; undefined if `JSON.stringify` gives none.
 */
export const write = (value: unknown): string | undefined => {
  if (KeyOrder.isMoved(value)) return inOrder(value)
  return JSON.stringify(value, (_, one: unknown) => (typeof one === "bigint" ? json.rawJSON(String(one)) : one))
}

/** Like `write`, with two spaces a level unless JavaScript has reordered keys. */
export const writeIndented = (value: object): string =>
  (KeyOrder.isMoved(value) ? inOrder(value) : JSON.stringify(sendable(value), undefined, 2)) ?? "{}"

const inOrder = (value: unknown): string | undefined => {
  if (Array.isArray(value)) return `[${value.map((one) => inOrder(one) ?? "null").join(",")}]`
  if (!isRecord(value)) return write(value)
  const members = KeyOrder.entries(value).flatMap(([key, one]) => {
    const text = inOrder(one)
    return text === undefined ? [] : [`${JSON.stringify(key)}:${text}`]
  })
  return `{${members.join(",")}}`
}
