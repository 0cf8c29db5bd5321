/**
 * Arguments that a model writes as bare text: what they mean is in the schema of the tool's parameters.
 *
 * Text stays text where the schema says so, and where it says nothing that the text could be. Pure, and never throws,
 * whatever the tools of a request hold.
 */
import { Option, Predicate } from "effect"
import * as CallJson from "./CallJson.ts"
import type { ReadCall } from "./OutputFormat.ts"

type Types = ReadonlySet<string>

const field = (value: unknown, key: string): unknown =>
  Predicate.isReadonlyObject(value) && Object.hasOwn(value, key) ? value[key] : undefined

/** The schemas of a tool's parameters by name; none where there is no such tool. */
const propertiesOf = (tools: ReadonlyArray<unknown>, name: string): unknown => {
  for (const tool of tools) {
    const definition = field(tool, "function") ?? tool
    if (field(definition, "name") === name) return field(field(definition, "parameters"), "properties")
  }
  return undefined
}

const typeOf = (value: unknown): string => {
  if (value === null) return "null"
  if (Array.isArray(value)) return "array"
  return typeof value
}

/** What a schema lets a value be, in JSON's words; nothing where it does not say. */
const typesOf = (schema: unknown, levels = 8): Types | undefined => {
  if (levels === 0) return undefined
  const type = field(schema, "type")
  if (typeof type === "string") return new Set([type === "integer" ? "number" : type])
  if (Array.isArray(type)) return new Set(type.map((one) => (one === "integer" ? "number" : String(one))))
  for (const key of ["anyOf", "oneOf"]) {
    const choices = field(schema, key)
    if (!Array.isArray(choices)) continue
    const all = choices.map((one) => typesOf(one, levels - 1))
    const known = all.filter((one) => one !== undefined)
    return known.length === all.length ? new Set(known.flatMap((one) => [...one])) : undefined
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

const jsonOf = (text: string): string | undefined => {
  const trimmed = text.trim()
  const json = trimmed.length > 5 ? trimmed : (words.get(trimmed.toLowerCase()) ?? trimmed)
  return Option.isSome(CallJson.decode(json)) ? json : undefined
}

/** What a value is where its schema says nothing: text, or JSON if it can be that. */
export type Untyped = "text" | "json"

/** The JSON text that the written text of a value stands for. */
const valueOf = (text: string, types: Types | undefined, untyped: Untyped): string => {
  const asText = JSON.stringify(text)
  if (types === undefined) return untyped === "text" ? asText : (jsonOf(text) ?? asText)
  const json = types.size === 1 && types.has("string") ? undefined : jsonOf(text)
  if (json === undefined) return asText
  // Text that may be text is something else only where the schema lets it be that.
  return !types.has("string") || types.has(typeOf(JSON.parse(json))) ? json : asText
}

/** A call whose arguments were written one by one; nothing where one is given twice. */
export const call = (
  name: string,
  pairs: ReadonlyArray<readonly [key: string, text: string]>,
  tools: ReadonlyArray<unknown> = [],
  untyped: Untyped
): ReadCall | undefined => {
  if (new Set(pairs.map(([key]) => key)).size !== pairs.length) return undefined
  const properties = propertiesOf(tools, name)
  const members = pairs.map(
    ([key, text]) => `${JSON.stringify(key)}: ${valueOf(text, typesOf(field(properties, key)), untyped)}`
  )
  return CallJson.argumentsOf(name, `{${members.join(", ")}}`)
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
