/**
 * Checks that a grammar can enforce all keywords of a JSON schema, with values of the right type. Everything else is
 * rejected by name, because an answer must not follow a different schema than requested.
 */
import * as ExactJson from "@atropos/core/base/json/ExactJson"
import { Predicate } from "effect"

const remarks = new Set([
  "$schema",
  "$id",
  "$comment",
  "title",
  "description",
  "default",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly"
])

const values = new Set(["type", "enum", "const", "$ref", "required", "pattern", "format"])
const counts = new Set(["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"])
const bounds = new Set(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"])
const schemas = new Set(["items", "additionalProperties", "additionalItems"])
const lists = new Set(["anyOf", "prefixItems"])
const maps = new Set(["properties", "$defs", "definitions"])

const types = new Set(["object", "array", "string", "number", "integer", "boolean", "null"])
const formats = new Set(["date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"])

const describeValue = (value: unknown): string => ExactJson.write(value)?.slice(0, 60) ?? "nothing"

/** A finite number, in any parsed form. */
const isNumber = (value: unknown): boolean =>
  typeof value === "bigint" ||
  (value instanceof ExactJson.Numeral ? Number.isFinite(Number(value)) : Number.isFinite(value))

/** Describes the first problem and its path (`properties.age`); undefined if none. */
export const problem = (schema: unknown, where = ""): string | undefined => {
  if (typeof schema === "boolean") return undefined
  const at = where === "" ? "the schema" : where
  if (!Predicate.isReadonlyObject(schema) || Array.isArray(schema))
    return `${at}: expected a schema, got ${describeValue(schema)}`
  for (const [keyword, value] of Object.entries(schema)) {
    const found = ofKeyword(keyword, value, where === "" ? keyword : `${where}.${keyword}`)
    if (found !== undefined) return found
  }
  return undefined
}

const ofKeyword = (keyword: string, value: unknown, where: string): string | undefined => {
  if (remarks.has(keyword)) return undefined
  if (values.has(keyword)) return ofValue(keyword, value, where)
  if (counts.has(keyword)) {
    return isNumber(value) && Number.isSafeInteger(Number(value)) && Number(value) >= 0
      ? undefined
      : `${where}: expected a count, got ${describeValue(value)}`
  }
  if (bounds.has(keyword))
    return isNumber(value) ? undefined : `${where}: expected a number, got ${describeValue(value)}`
  if (schemas.has(keyword)) return problem(value, where)
  if (lists.has(keyword)) {
    if (!Array.isArray(value)) return `${where}: expected a list of schemas, got ${describeValue(value)}`
    return first(
      value.map((one, i) => [String(i), one]),
      where
    )
  }
  if (maps.has(keyword)) {
    if (!Predicate.isReadonlyObject(value))
      return `${where}: expected an object of schemas, got ${describeValue(value)}`
    return first(Object.entries(value), where)
  }
  return `${where}: answers cannot be constrained by ${keyword}; remove it, and check it afterwards`
}

const first = (entries: ReadonlyArray<readonly [string, unknown]>, where: string): string | undefined => {
  for (const [name, one] of entries) {
    const found = problem(one, `${where}.${name}`)
    if (found !== undefined) return found
  }
  return undefined
}

const ofValue = (keyword: string, value: unknown, where: string): string | undefined => {
  const isKnown = (type: unknown) => typeof type === "string" && types.has(type)
  switch (keyword) {
    case "type":
      return (Array.isArray(value) ? value.length > 0 && value.every(isKnown) : isKnown(value))
        ? undefined
        : `${where}: expected one of ${[...types].join(", ")}, or a list of them, got ${describeValue(value)}`
    case "enum":
      return Array.isArray(value) && value.length > 0
        ? undefined
        : `${where}: expected a list, got ${describeValue(value)}`
    case "required":
      return Array.isArray(value) && value.every((name) => typeof name === "string")
        ? undefined
        : `${where}: expected a list of names, got ${describeValue(value)}`
    case "$ref":
      return typeof value === "string" && value.startsWith("#")
        ? undefined
        : `${where}: expected a location in this schema, such as "#/$defs/name", got ${describeValue(value)}`
    case "format":
      return typeof value === "string" && formats.has(value)
        ? undefined
        : `${where}: expected one of ${[...formats].join(", ")}, got ${describeValue(value)}`
    case "pattern":
      return typeof value === "string"
        ? undefined
        : `${where}: expected a regular expression, got ${describeValue(value)}`
    default:
      return undefined
  }
}
