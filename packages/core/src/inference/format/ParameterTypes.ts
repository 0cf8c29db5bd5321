/**
 * Types arguments that a model writes as bare text, by the schema of the tool's parameters.
 *
 * Text stays a string if the schema says so, or if the schema allows nothing else that it could be. Pure, and never
 * throws, for any tools in a request.
 */
import { Option, Predicate } from "effect"
import * as CallJson from "./CallJson.ts"
import type { ReadCall } from "./OutputFormat.ts"
import * as PythonLiteral from "./PythonLiteral.ts"

type Types = ReadonlySet<string>

const field = (value: unknown, key: string): unknown =>
  Predicate.isReadonlyObject(value) && Object.hasOwn(value, key) ? value[key] : undefined

/** The schema of a tool's parameters; undefined if there is no such tool. */
const parametersOf = (tools: ReadonlyArray<unknown>, name: string): unknown => {
  for (const tool of tools) {
    const definition = field(tool, "function") ?? tool
    if (field(definition, "name") === name) return field(definition, "parameters") ?? field(definition, "input_schema")
  }
  return undefined
}

const target = (root: unknown, place: string): unknown =>
  place.startsWith("#")
    ? place
        .split("/")
        .slice(1)
        .reduce((at, part) => field(at, part.replaceAll("~1", "/").replaceAll("~0", "~")), root)
    : undefined

/** The schema of one parameter, anywhere in its tool's schema. */
const propertyOf = (root: unknown, key: string, schema: unknown = root, levels = 8): unknown => {
  if (levels === 0) return undefined
  const own = field(field(schema, "properties"), key)
  if (own !== undefined) return own
  const place = field(schema, "$ref")
  if (typeof place === "string") return propertyOf(root, key, target(root, place), levels - 1)
  for (const word of ["allOf", "anyOf", "oneOf"]) {
    const parts = field(schema, word)
    for (const part of Array.isArray(parts) ? parts : []) {
      const found = propertyOf(root, key, part, levels - 1)
      if (found !== undefined) return found
    }
  }
  return undefined
}

const typeOf = (value: unknown): string => {
  if (value === null) return "null"
  if (Array.isArray(value)) return "array"
  return typeof value === "bigint" ? "number" : typeof value
}

/** JSON types that a schema allows; undefined if unspecified. */
const typesOf = (root: unknown, schema: unknown, levels = 8): Types | undefined => {
  if (levels === 0) return undefined
  const place = field(schema, "$ref")
  if (typeof place === "string") return typesOf(root, target(root, place), levels - 1)
  const type = field(schema, "type")
  if (typeof type === "string") return new Set([type === "integer" ? "number" : type])
  if (Array.isArray(type)) return new Set(type.map((one) => (one === "integer" ? "number" : String(one))))
  for (const key of ["anyOf", "oneOf"]) {
    const choices = field(schema, key)
    if (!Array.isArray(choices)) continue
    const all = choices.map((one) => typesOf(root, one, levels - 1))
    const known = all.filter((one) => one !== undefined)
    return known.length === all.length ? new Set(known.flatMap((one) => [...one])) : undefined
  }
  const parts = field(schema, "allOf")
  if (Array.isArray(parts)) {
    const known = parts.map((one) => typesOf(root, one, levels - 1)).filter((one) => one !== undefined)
    return known.length === 0
      ? undefined
      : known.reduce((all, one) => new Set([...all].filter((each) => one.has(each))))
  }
  const values = field(schema, "enum")
  if (Array.isArray(values)) return new Set(values.map(typeOf))
  if (Predicate.isReadonlyObject(schema) && "const" in schema) return new Set([typeOf(schema["const"])])
  if (field(schema, "properties") !== undefined) return new Set(["object"])
  return field(schema, "items") === undefined ? undefined : new Set(["array"])
}

/** Python keywords and their JSON equivalents. */
const words = new Map([
  ["true", "true"],
  ["false", "false"],
  ["null", "null"],
  ["none", "null"]
])

/** `1` and `0` if only a boolean is allowed. */
const booleanOf = (text: string, types: Types): string | undefined => {
  if (!types.has("boolean") || types.has("number")) return undefined
  return text.trim() === "1" ? "true" : text.trim() === "0" ? "false" : undefined
}

const jsonOf = (text: string): string | undefined => {
  const trimmed = text.trim()
  const json = trimmed.length > 5 ? trimmed : (words.get(trimmed.toLowerCase()) ?? trimmed)
  if (Option.isSome(CallJson.decode(json))) return json
  // Lists and objects may also be Python literals.
  const literal = /^[[{(]/.test(trimmed) ? PythonLiteral.whole(trimmed) : undefined
  return literal !== undefined && Option.isSome(CallJson.decode(literal)) ? literal : undefined
}

/** Interpretation of a value without a schema: a string, or JSON if possible. */
export type Untyped = "text" | "json"

/** The JSON text of a written value. */
const valueOf = (text: string, types: Types | undefined, untyped: Untyped): string => {
  const asText = JSON.stringify(text)
  if (types === undefined) return untyped === "text" ? asText : (jsonOf(text) ?? asText)
  const json = types.size === 1 && types.has("string") ? undefined : (booleanOf(text, types) ?? jsonOf(text))
  if (json === undefined) return asText
  // If strings are allowed, a value is something else only if the schema allows that type.
  return !types.has("string") || types.has(typeOf(Option.getOrNull(CallJson.decode(json)))) ? json : asText
}

/** A parameter as written; `isText`: the model marks it as a string, which counts if it may be one. */
export type Pair = readonly [key: string, text: string, isText?: boolean]

/** A call whose arguments were written one by one; undefined if one is repeated. */
export const call = (
  name: string,
  pairs: ReadonlyArray<Pair>,
  tools: ReadonlyArray<unknown> = [],
  untyped: Untyped
): ReadCall | undefined => {
  if (new Set(pairs.map(([key]) => key)).size !== pairs.length) return undefined
  const parameters = parametersOf(tools, name)
  const members = pairs.map(([key, text, isText = false]) => {
    const types = typesOf(parameters, propertyOf(parameters, key))
    const isSaid = isText && types?.has("string") !== false
    return `${JSON.stringify(key)}: ${isSaid ? JSON.stringify(text) : valueOf(text, types, untyped)}`
  })
  return CallJson.argumentsOf(name, `{${members.join(", ")}}`)
}

const wrappers: ReadonlySet<string> = new Set(["arguments", "input"])

/** Unwraps arguments that were written as a single object under a name that the tool does not have. */
export const unwrapped = (
  pairs: ReadonlyArray<Pair>,
  name: string,
  tools: ReadonlyArray<unknown> = []
): string | undefined => {
  const [[key, text] = ["", ""], ...more] = pairs
  const properties = field(parametersOf(tools, name), "properties")
  if (more.length > 0 || !wrappers.has(key) || !Predicate.isReadonlyObject(properties) || key in properties)
    return undefined
  const inner = Option.getOrUndefined(CallJson.decode(text))
  const isObject = Predicate.isReadonlyObject(inner) && !Array.isArray(inner)
  return isObject && Object.keys(inner).every((one) => Object.hasOwn(properties, one)) ? text : undefined
}

/** Arguments to write one by one: strings verbatim, else JSON. */
export const pairsOf = (
  json: string
): ReadonlyArray<{ readonly key: string; readonly text: string; readonly isText: boolean }> => {
  const value = Option.getOrUndefined(CallJson.decode(json))
  if (!Predicate.isReadonlyObject(value) || Array.isArray(value))
    return [{ key: "arguments", text: json, isText: true }]
  return Array.from(CallJson.members(json), ([key, text]) => {
    const one = value[key]
    return typeof one === "string"
      ? { key, text: one, isText: true }
      : { key, text: CallJson.rewrite(text), isText: false }
  })
}
