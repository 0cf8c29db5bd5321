/**
 * Reads single values as pydantic's lax mode reads them from JSON: an integer may be `1.0`, `"100"` or `true`, a float
 * may be an integer, a numeric string or a boolean; strings are strings. Error types and messages are pydantic's.
 *
 * Beyond pydantic, rejects NaN and infinities everywhere, and integers outside a field's range.
 */
import * as Predicate from "effect/Predicate"
import type { Loc, Report } from "./Detail.ts"

const integerText = /^[+-]?\d+(?:_\d+)*(?:\.0+)?$/
const floatText = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/
const notFiniteText = /^[+-]?(?:inf|infinity|nan)$/i

export interface Range {
  readonly minimum: number
  readonly maximum: number
}

export const int32: Range = { minimum: -0x8000_0000, maximum: 0x7fff_ffff }
export const tokenId: Range = { minimum: 0, maximum: 0x7fff_ffff }
export const float32: Range = { minimum: -3.4028234663852886e38, maximum: 3.4028234663852886e38 }
export const float64: Range = { minimum: -Number.MAX_VALUE, maximum: Number.MAX_VALUE }

const within = (value: number, range: Range, loc: Loc, report: Report, input: unknown): number => {
  if (value < range.minimum) {
    report.add("greater_than_equal", loc, `Input should be greater than or equal to ${range.minimum}`, input, {
      ge: range.minimum
    })
  } else if (value > range.maximum) {
    report.add("less_than_equal", loc, `Input should be less than or equal to ${range.maximum}`, input, {
      le: range.maximum
    })
  }
  return value
}

const notFinite = (loc: Loc, report: Report, input: unknown): number => {
  report.add("finite_number", loc, "Input should be a finite number", typeof input === "number" ? `${input}` : input)
  return 0
}

/** An integer in range, or 0 and a detail. */
export const int = (value: unknown, range: Range, loc: Loc, report: Report): number => {
  if (typeof value === "number") {
    if (Number.isInteger(value)) return within(value, range, loc, report, value)
    if (!Number.isFinite(value)) return notFinite(loc, report, value)
    report.add("int_from_float", loc, "Input should be a valid integer, got a number with a fractional part", value)
    return 0
  }
  if (typeof value === "boolean") {
    report.coerced = true
    return within(value ? 1 : 0, range, loc, report, value)
  }
  if (typeof value === "string") {
    const trimmed = value.trim()
    if (integerText.test(trimmed)) {
      report.coerced = true
      return within(Number(trimmed.replaceAll("_", "")), range, loc, report, value)
    }
    report.add("int_parsing", loc, "Input should be a valid integer, unable to parse string as an integer", value)
    return 0
  }
  report.add("int_type", loc, "Input should be a valid integer", value)
  return 0
}

/** Surrounding spaces, or single underscores inside, but not both. */
const plainFloat = (text: string): string =>
  text.includes("_") && !/^_|__|_$/.test(text) ? text.replaceAll("_", "") : text.trim()

/** A finite number in range, or 0 and a detail. */
export const float = (value: unknown, range: Range, loc: Loc, report: Report): number => {
  if (typeof value === "number") {
    return Number.isFinite(value) ? within(value, range, loc, report, value) : notFinite(loc, report, value)
  }
  if (typeof value === "boolean") {
    report.coerced = true
    return value ? 1 : 0
  }
  if (typeof value === "string") {
    const text = plainFloat(value)
    if (floatText.test(text)) {
      report.coerced = true
      const number = Number(text)
      return Number.isFinite(number) ? within(number, range, loc, report, value) : notFinite(loc, report, value)
    }
    if (notFiniteText.test(text)) return notFinite(loc, report, value)
    report.add("float_parsing", loc, "Input should be a valid number, unable to parse string as a number", value)
    return 0
  }
  report.add("float_type", loc, "Input should be a valid number", value)
  return 0
}

export const string = (value: unknown, loc: Loc, report: Report): string => {
  if (typeof value === "string") return value
  report.add("string_type", loc, "Input should be a valid string", value)
  return ""
}

export const record = (value: unknown, loc: Loc, report: Report): { readonly [key: string]: unknown } => {
  if (Predicate.isReadonlyObject(value)) return value
  report.add("dict_type", loc, "Input should be a valid dictionary", value)
  return {}
}

export const list = (value: unknown, loc: Loc, report: Report): ReadonlyArray<unknown> => {
  if (Array.isArray(value)) return value
  report.add("list_type", loc, "Input should be a valid list", value)
  return []
}
