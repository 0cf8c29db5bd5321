/**
 * Arguments that a model writes as bare text: what they mean is in the schema of the tool's parameters.
 *
 * Text stays text where the schema says so, and where it says nothing that the text could be. Pure, and never throws,
 * whatever the tools of a request hold.
 */
import { Option, Predicate } from "effect"
import * as CallJson from "./CallJson.ts"
import type { ReadCall } from "./OutputFormat.ts"
import * as PythonLiteral from "./PythonLiteral.ts"

type Types = ReadonlySet<string>

const field = (value: unknown, key: string): unknown =>
  Predicate.isReadonlyObject(value) && Object.hasOwn(value, key) ? value[key] : undefined

/** The schema of a tool's parameters; none where there is no such tool. */
const parametersOf = (tools: ReadonlyArray<unknown>, name: string): unknown => {
  for (const tool of tools) {
    const definition = field(tool, "function") ?? tool
    if (field(definition, "name") === name) return field(definition, "parameters") ?? field(definition, "input_schema")
  }
  return undefined
}

/** What a reference points to in the schema that it stands in. */
const target = (root: unknown, place: string): unknown =>
  place.startsWith("#")
    ? place
        .split("/")
        .slice(1)
        .reduce((at, part) => field(at, part.replaceAll("~1", "/").replaceAll("~0", "~")), root)
    : undefined

/** The schema of one parameter, wherever its tool's schema says it. */
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

/** What a schema lets a value be, in JSON's words; nothing where it does not say. */
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

/** Python's words for what JSON spells otherwise. */
const words = new Map([
  ["true", "true"],
  ["false", "false"],
  ["null", "null"],
  ["none", "null"]
])

/** `1` and `0` where nothing but a boolean may be. */
const booleanOf = (text: string, types: Types): string | undefined => {
  if (!types.has("boolean") || types.has("number")) return undefined
  return text.trim() === "1" ? "true" : text.trim() === "0" ? "false" : undefined
}

const jsonOf = (text: string): string | undefined => {
  const trimmed = text.trim()
  const json = trimmed.length > 5 ? trimmed : (words.get(trimmed.toLowerCase()) ?? trimmed)
  if (Option.isSome(CallJson.decode(json))) return json
  // Lists and objects are written as Python's, too.
  const literal = /^[[{(]/.test(trimmed) ? PythonLiteral.whole(trimmed) : undefined
  return literal !== undefined && Option.isSome(CallJson.decode(literal)) ? literal : undefined
}

/** What a value is where its schema says nothing: text, or JSON if it can be that. */
export type Untyped = "text" | "json"

/** The JSON text that the written text of a value stands for. */
const valueOf = (text: string, types: Types | undefined, untyped: Untyped): string => {
  const asText = JSON.stringify(text)
  if (types === undefined) return untyped === "text" ? asText : (jsonOf(text) ?? asText)
  const json = types.size === 1 && types.has("string") ? undefined : (booleanOf(text, types) ?? jsonOf(text))
  if (json === undefined) return asText
  // Text that may be text is something else only where the schema lets it be that.
  return !types.has("string") || types.has(typeOf(Option.getOrNull(CallJson.decode(json)))) ? json : asText
}

/** A parameter as it was written; `isText`: the model says that it is a text, which counts where it may be one. */
export type Pair = readonly [key: string, text: string, isText?: boolean]

/** A call whose arguments were written one by one; nothing where one is given twice. */
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

/** Arguments that were written as one, under a name that the tool has not: what they are. */
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

/** Arguments to be written one by one: text as it stands, else JSON. */
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
