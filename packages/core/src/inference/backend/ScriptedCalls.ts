/**
 * The policy of `--testing`: calls every offered tool once, all remaining ones in one answer, then repeats the user's
 * last message.
 *
 * Calls are written in the model's format, so that they take the same path as a model's own. Arguments are generated
 * from the schema of the tool's parameters: required ones only, with the first of the listed values.
 */
import { Predicate } from "effect"
import * as Formats from "../format/Formats.ts"
import type { Setting } from "../format/OutputFormat.ts"
import type { TokenizerShape } from "../tokenizer/Tokenizer.ts"
import * as Scripted from "./Scripted.ts"

type Fields = { readonly [key: string]: unknown }

interface Tool {
  readonly name: string
  readonly parameters: unknown
}

export const make = (tokenizer: TokenizerShape, setting: Setting = "auto") => {
  const format = Formats.of(tokenizer, setting)
  return (request: Scripted.ScriptedRequest): Scripted.Completion => {
    const left = "messages" in request ? leftOf(request) : []
    if (left.length === 0) return Scripted.echo(request)
    const calls = left.map(({ name, parameters }, index) => ({
      id: format.callId(`testing${String(index).padStart(4, "0")}`),
      type: "function" as const,
      function: { name, arguments: JSON.stringify(exampleOf(parameters, parameters, 0) ?? {}) }
    }))
    return format.write({ role: "assistant", content: "", tool_calls: calls })
  }
}

/** The tools of a request that its chat has not called yet. */
const leftOf = ({
  messages,
  toolChoice,
  tools = []
}: Extract<Scripted.ScriptedRequest, { readonly messages: unknown }>): ReadonlyArray<Tool> => {
  if (toolChoice === "none") return []
  const called = new Set(messages.flatMap(({ tool_calls: calls = [] }) => calls.map((call) => call.function.name)))
  return tools.flatMap((tool) => {
    const described = Predicate.hasProperty(tool, "function") ? tool.function : tool
    if (!Predicate.isReadonlyObject(described)) return []
    const { name, parameters } = described
    return typeof name === "string" && !called.has(name) ? [{ name, parameters }] : []
  })
}

const maxDepth = 8

/** A value that satisfies the schema's types and bounds; `root` resolves its references. */
const exampleOf = (schema: unknown, root: unknown, depth: number): unknown => {
  if (!Predicate.isReadonlyObject(schema) || depth > maxDepth) return null
  const inner = (part: unknown) => exampleOf(part, root, depth + 1)
  if (typeof schema["$ref"] === "string") return inner(referred(schema["$ref"], root))
  if ("const" in schema) return schema["const"]
  if ("default" in schema) return schema["default"]
  for (const key of ["enum", "examples"] as const) {
    const [first]: ReadonlyArray<unknown> = Array.isArray(schema[key]) ? schema[key] : []
    if (first !== undefined) return first
  }
  for (const key of ["anyOf", "oneOf", "allOf"] as const) {
    const parts: ReadonlyArray<unknown> = Array.isArray(schema[key]) ? schema[key] : []
    const part = parts.find((one) => !(Predicate.isReadonlyObject(one) && one["type"] === "null"))
    if (part !== undefined) return inner(part)
  }
  const types: ReadonlyArray<unknown> = [schema["type"]].flat()
  const type = types.find((one): one is string => typeof one === "string" && one !== "null")
  return exampleOfType(type ?? ("properties" in schema ? "object" : "string"), schema, inner)
}

const exampleOfType = (type: string, schema: Fields, inner: (part: unknown) => unknown): unknown => {
  switch (type) {
    case "object": {
      const properties = Predicate.isReadonlyObject(schema["properties"]) ? schema["properties"] : {}
      const required: ReadonlyArray<unknown> = Array.isArray(schema["required"]) ? schema["required"] : []
      return Object.fromEntries(
        Object.entries(properties)
          .filter(([name]) => required.includes(name))
          .map(([name, one]) => [name, inner(one)])
      )
    }
    case "array":
      return Array.from({ length: numberOf(schema["minItems"]) ?? 0 }, () => inner(schema["items"]))
    case "boolean":
      return true
    case "null":
      return null
    case "integer":
    case "number":
      return (
        numberOf(schema["minimum"]) ??
        above(numberOf(schema["exclusiveMinimum"])) ??
        numberOf(schema["multipleOf"]) ??
        Math.min(1, numberOf(schema["maximum"]) ?? 1)
      )
    default:
      return (formats[String(schema["format"])] ?? "example").padEnd(numberOf(schema["minLength"]) ?? 0, "e")
  }
}

const formats: { readonly [format: string]: string } = {
  date: "2026-01-31",
  "date-time": "2026-01-31T12:00:00Z",
  time: "12:00:00Z",
  email: "someone@example.com",
  uri: "https://example.com",
  uuid: "123e4567-e89b-42d3-a456-426614174000"
}

const numberOf = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined)

const above = (value: number | undefined): number | undefined => (value === undefined ? undefined : value + 1)

/** Resolves `#/$defs/name` in the schema. */
const referred = (reference: string, root: unknown): unknown =>
  reference
    .replace(/^#\/?/, "")
    .split("/")
    .filter((key) => key !== "")
    .reduce<unknown>(
      (value, key) =>
        Predicate.isReadonlyObject(value) ? value[key.replaceAll("~1", "/").replaceAll("~0", "~")] : null,
      root
    )
