/**
 * Implements JSON Schema keywords that compare numbers as written: the library compares doubles, so that
 * 9007199254740992 would equal 9007199254740993, 9007199254740993.5 be an integer, and 1.15 no multiple of 0.01.
 *
 * `read` returns the value with doubles and remembers which numbers they represent: integers beyond 2^53, and fractions
 * whose double is an integer, which are another fraction for the library. `const`, `enum`, bounds, `uniqueItems` and
 * `multipleOf` compare them exactly; everything else is the library's.
 */
import type { Ajv, ErrorObject, SchemaObject, ValidateFunction } from "ajv"

/** The location of a value, as passed by the library. */
type Place = NonNullable<Parameters<ValidateFunction>[1]>

type Holder = { readonly [key: string]: unknown }

interface Decimal {
  readonly digits: bigint
  readonly exponent: number
}

const exacts = new WeakMap<object, Map<string, bigint | Decimal>>()

/** ES2026, which Node has; not yet in TypeScript's library. */
const json = JSON as unknown as {
  readonly parse: (
    text: string,
    revive: (this: object, key: string, value: unknown, context: { readonly source?: string }) => unknown
  ) => unknown
}

/** True if a schema or answer may need the keywords: for an integer that a double cannot represent, or a multiple. */
export const isNeeded = (text: string): boolean => /\d{16}|"multipleOf"/.test(text)

/**
 * Parses a value to the key "" of an object, and remembers its exact integers. Throws `SyntaxError` as `JSON.parse`.
 */
export const read = (text: string): Holder => {
  let last = ""
  const value = json.parse(text, function (key, one, { source = "" }) {
    last = source
    return typeof one === "number" ? remember(this, key, one, source) : one
  })
  const whole = { "": value }
  // The last number read is the whole value; its holder was the parser's.
  if (typeof value === "number") remember(whole, "", value, last)
  return whole
}

/** A fraction, in the place of one whose double is an integer. */
const someFraction = 4_503_599_627_370_495.5

/** Remembers the number that a double does not represent, and returns the double to validate. */
const remember = (holder: object, key: string, value: number, source: string): number => {
  const set = (exact: bigint | Decimal) =>
    exacts.set(holder, (exacts.get(holder) ?? new Map<string, bigint | Decimal>()).set(key, exact))
  const [, whole = "", decimals = ""] = /^(-?\d+)(?:\.(\d+))?$/.exec(source) ?? []
  const places = decimals.replace(/(?<!0)0+$/, "")
  if (whole === "") return value
  if (places === "") {
    if (!Number.isSafeInteger(value)) set(BigInt(whole))
    return value
  }
  if (!Number.isInteger(value) && Math.abs(value) !== someFraction) return value
  set({ digits: BigInt(whole + places), exponent: -places.length })
  return value < 0 ? -someFraction : someFraction
}

/** A member's value, exact if it is an integer or remembered. */
const exact = (holder: object, key: string): unknown => {
  const value = (holder as Holder)[key]
  const integer = typeof value === "number" && Number.isInteger(value) ? BigInt(value) : value
  return exacts.get(holder)?.get(key) ?? integer
}

const isSame = (a: object, aKey: string, b: object, bKey: string): boolean => {
  const [one, other] = [exact(a, aKey), exact(b, bKey)]
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return one === other
  const [keys, others] = [Object.keys(one), Object.keys(other)]
  return (
    Array.isArray(one) === Array.isArray(other) &&
    keys.length === others.length &&
    keys.every((key) => Object.hasOwn(other, key) && isSame(one, key, other, key))
  )
}

type Judge = (
  schema: SchemaObject,
  keyword: string,
  { parent, key }: { readonly parent: object; readonly key: string }
) => boolean

const bound =
  (holds: (value: number | bigint, limit: number | bigint) => boolean): Judge =>
  (schema, keyword, { key, parent }) => {
    const [value, limit] = [exact(parent, key), exact(schema, keyword)]
    if (isDecimal(value) || isDecimal(limit)) {
      const [one, other] = [decimalOf(value), decimalOf(limit)]
      return one === undefined || other === undefined || holds(...scaled(one, other))
    }
    const areNumbers = [value, limit].every((one) => typeof one === "number" || typeof one === "bigint")
    return !areNumbers || holds(value as number | bigint, limit as number | bigint)
  }

const isDecimal = (value: unknown): value is Decimal =>
  typeof value === "object" && value !== null && "digits" in value && typeof value.digits === "bigint"

/** An exact integer, or the shortest decimal of a double: as written, up to 15 digits. */
const decimalOf = (value: unknown): Decimal | undefined => {
  if (isDecimal(value)) return value
  if (typeof value === "bigint") return { digits: value, exponent: 0 }
  const [match, whole = "", places = "", power = "0"] =
    typeof value === "number" ? (/^(-?\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value)) ?? []) : []
  return match === undefined ? undefined : { digits: BigInt(whole + places), exponent: Number(power) - places.length }
}

/** Two decimals as integers of the same unit. */
const scaled = (a: Decimal, b: Decimal): readonly [bigint, bigint] => {
  const least = Math.min(a.exponent, b.exponent)
  const [x = 0n, y = 0n] = [a, b].map(({ digits, exponent }) => digits * 10n ** BigInt(exponent - least))
  return [x, y]
}

const isMultiple = (value: Decimal, unit: Decimal): boolean => {
  const [x, y] = scaled(value, unit)
  return unit.digits !== 0n && x % y === 0n
}

const keywords: { readonly [keyword: string]: { readonly message: string; readonly judge: Judge } } = {
  const: {
    message: "must be equal to constant",
    judge: (schema, keyword, { key, parent }) => isSame(schema, keyword, parent, key)
  },
  enum: {
    message: "must be equal to one of the allowed values",
    judge: (schema, keyword, { key, parent }) => {
      const all = schema[keyword] as ReadonlyArray<unknown>
      return Object.keys(all).some((at) => isSame(all, at, parent, key))
    }
  },
  minimum: { message: "must be >= the minimum", judge: bound((value, limit) => value >= limit) },
  maximum: { message: "must be <= the maximum", judge: bound((value, limit) => value <= limit) },
  exclusiveMinimum: { message: "must be > the minimum", judge: bound((value, limit) => value > limit) },
  exclusiveMaximum: { message: "must be < the maximum", judge: bound((value, limit) => value < limit) },
  multipleOf: {
    message: "must be a multiple of the number",
    judge: (schema, keyword, { key, parent }) => {
      const value = exact(parent, key)
      if (typeof value !== "number" && typeof value !== "bigint" && !isDecimal(value)) return true
      const [multiple, unit] = [decimalOf(value), decimalOf(exact(schema, keyword))]
      return multiple !== undefined && unit !== undefined && isMultiple(multiple, unit)
    }
  },
  uniqueItems: {
    message: "must NOT have duplicate items",
    judge: (schema, keyword, { key, parent }) => {
      const all = (parent as Holder)[key]
      if (schema[keyword] !== true || !Array.isArray(all)) return true
      const keys = Object.keys(all)
      return keys.every((one, at) => keys.slice(at + 1).every((other) => !isSame(all, one, all, other)))
    }
  }
}

export const install = <A extends Pick<Ajv, "removeKeyword" | "addKeyword">>(validator: A): A => {
  for (const [keyword, { judge, message }] of Object.entries(keywords)) {
    validator.removeKeyword(keyword)
    const validate = (_: unknown, __: unknown, schema: SchemaObject = {}, place?: Place): boolean => {
      const isValid =
        place?.parentData === undefined ||
        judge(schema, keyword, { parent: place.parentData, key: String(place.parentDataProperty) })
      // Per call: the library clears the errors before it, and adds the location.
      validate.errors = [{ keyword, message, params: {} }]
      return isValid
    }
    validate.errors = [] as Array<Partial<ErrorObject>>
    validator.addKeyword({ keyword, validate, errors: true })
  }
  return validator
}

/** The location of the whole value of `read`. */
export const whole = (holder: Holder): Place => ({
  instancePath: "",
  parentData: holder,
  parentDataProperty: "",
  rootData: holder[""] as Place["rootData"],
  dynamicAnchors: {}
})
