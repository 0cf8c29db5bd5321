/** Infers the types of parquet columns from values, including lists and structs. */
import * as ExactJson from "@atropos/core/base/json/ExactJson"
import * as Predicate from "effect/Predicate"
import type { ParquetWriter } from "hyparquet-writer"

/**
 * `any`: only nulls so far. `whole`: integers exact in a double. `long`: also other 64-bit integers. `json`: values of
 * mixed types, written as JSON text. `parts`: text, or lists of content parts.
 */
export type Type =
  | { readonly kind: "any" | "boolean" | "whole" | "long" | "number" | "text" | "json" }
  | { readonly kind: "list" | "parts"; readonly element: Type }
  | { readonly kind: "struct"; readonly fields: ReadonlyMap<string, Type> }

export const any: Type = { kind: "any" }
const json: Type = { kind: "json" }

/** Inside calls' arguments, integers stay integers: a chat template writes 2.0 for a double. */
const inferred = (value: unknown, isArgument: boolean): Type => {
  if (value === null || value === undefined) return any
  if (typeof value === "boolean") return { kind: "boolean" }
  if (typeof value === "number") {
    return { kind: !Number.isSafeInteger(value) ? "number" : isArgument ? "long" : "whole" }
  }
  if (value instanceof ExactJson.Numeral) return { kind: kindOf(value.text) }
  if (typeof value === "string") return { kind: "text" }
  if (Array.isArray(value)) {
    return { kind: "list", element: value.map((one) => inferred(one, isArgument)).reduce(common, any) }
  }
  if (!Predicate.isReadonlyObject(value)) return json
  const fields = new Map(
    Object.entries(value).map(([key, entry]) => [key, inferred(entry, isArgument || key === "arguments")])
  )
  return { kind: "struct", fields }
}

export const typeOf = (value: unknown): Type => inferred(value, false)

/** The type of a number from its text: one beyond 64 bits or a double is written as JSON. */
const kindOf = (text: string): "whole" | "long" | "number" | "json" => {
  if (!/^-?\d+$/.test(text)) return Number.isFinite(Number(text)) ? "number" : "json"
  if (Number.isSafeInteger(Number(text))) return "whole"
  return BigInt.asIntN(64, BigInt(text)) === BigInt(text) ? "long" : "json"
}

/** A common type of two number types, if lossless; a double would change a long. */
const commonNumber = (a: Type, b: Type): Type | undefined => {
  const kinds = new Set([a.kind, b.kind])
  if (kinds.has("whole") && kinds.has("long")) return { kind: "long" }
  return kinds.has("whole") && kinds.has("number") ? { kind: "number" } : undefined
}

const isPart = (type: Type): boolean => type.kind === "struct" && type.fields.has("type")

export const common = (a: Type, b: Type): Type => {
  if (a.kind === "any") return b
  if (b.kind === "any") return a
  if (a.kind === "struct" && b.kind === "struct") {
    const fields = new Map(a.fields)
    for (const [key, type] of b.fields) fields.set(key, common(fields.get(key) ?? any, type))
    return { kind: "struct", fields }
  }
  const isText = a.kind === "text" || b.kind === "text"
  const lists = [a, b].flatMap((type) => (type.kind === "list" || type.kind === "parts" ? [type] : []))
  const [first, second] = lists
  if (first !== undefined && second !== undefined) {
    const element = common(first.element, second.element)
    return { kind: first.kind === "parts" || second.kind === "parts" ? "parts" : "list", element }
  }
  if (first !== undefined && isText && isPart(first.element)) {
    const part: Type = {
      kind: "struct",
      fields: new Map([
        ["type", { kind: "text" }],
        ["text", { kind: "text" }]
      ])
    }
    return { kind: "parts", element: common(part, first.element) }
  }
  return a.kind === b.kind ? a : (commonNumber(a, b) ?? json)
}

/** A struct that is empty in every row has no columns. */
const isJson = (type: Type): boolean => type.kind === "json" || (type.kind === "struct" && type.fields.size === 0)

/** The place of calls' arguments whose values would be written as JSON text, which a chat template would quote. */
export const unfitArguments = (type: Type, at: ReadonlyArray<string> = []): string | undefined => {
  if (at.includes("arguments") && isJson(type)) return at.join(".")
  if (type.kind === "list" || type.kind === "parts") return unfitArguments(type.element, at)
  if (type.kind !== "struct") return undefined
  for (const [name, field] of type.fields) {
    const found = unfitArguments(field, [...at, name])
    if (found !== undefined) return found
  }
  return undefined
}

export const conform = (value: unknown, type: Type): unknown => {
  if (value === null || value === undefined) return undefined
  if (isJson(type)) return ExactJson.write(value)
  switch (type.kind) {
    case "long":
      return typeof value === "bigint" ? value : BigInt(value as string | number)
    case "whole":
    case "number":
      return Number(value)
    case "parts":
    case "list": {
      const list = typeof value === "string" ? [{ type: "text", text: value }] : value
      return Array.isArray(list) ? list.map((entry) => conform(entry, type.element)) : undefined
    }
    case "struct":
      return Predicate.isReadonlyObject(value)
        ? Object.fromEntries([...type.fields].map(([key, field]) => [key, conform(value[key], field)]))
        : undefined
    default:
      return value
  }
}

const leaves = {
  any: { type: "BYTE_ARRAY", converted_type: "UTF8" },
  boolean: { type: "BOOLEAN" },
  whole: { type: "DOUBLE" },
  long: { type: "INT64" },
  number: { type: "DOUBLE" },
  text: { type: "BYTE_ARRAY", converted_type: "UTF8" },
  json: { type: "BYTE_ARRAY", converted_type: "UTF8" }
} as const

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]["schema"][number]

/** The elements of a column in a parquet schema; all values are nullable. */
export const elements = (name: string, type: Type): Array<SchemaElement> => {
  if (isJson(type)) return [{ name, repetition_type: "OPTIONAL", ...leaves.json }]
  switch (type.kind) {
    case "list":
    case "parts":
      return [
        { name, repetition_type: "OPTIONAL", num_children: 1, converted_type: "LIST", logical_type: { type: "LIST" } },
        { name: "list", repetition_type: "REPEATED", num_children: 1 },
        ...elements("element", type.element)
      ]
    case "struct":
      return [
        { name, repetition_type: "OPTIONAL", num_children: type.fields.size },
        ...[...type.fields].flatMap(([key, field]) => elements(key, field))
      ]
    default:
      return [{ name, repetition_type: "OPTIONAL", ...leaves[type.kind] }]
  }
}
