/**
 * Handles `tools` and `tool_choice` of a chat. A forced call is constrained to the tools' schemas by a grammar, if the
 * model's format writes calls as JSON objects (Hermes and similar, Llama 3), and is the whole answer; other formats
 * reject it.
 */
import { ExactJson, type OutputFormat } from "@atropos/core"
import { Effect, Predicate } from "effect"
import * as SchemaGrammar from "../grammar/SchemaGrammar.ts"
import type { ChatPrompt } from "./ChatPrompt.ts"
import * as ApiError from "./OpenAiApiError.ts"

/** A forced call: the text around it, and its schema as text. */
export interface Forced {
  readonly before: string
  readonly behind: string
  readonly schema: string
  readonly sample: string
}

const param = "tool_choice"

const functionOf = (tool: unknown): { readonly [key: string]: unknown } | undefined =>
  Predicate.hasProperty(tool, "function") && Predicate.isReadonlyObject(tool.function) ? tool.function : undefined

/** The name that a choice selects; undefined for any. */
const nameIn = (choice: unknown): Effect.Effect<string | undefined, ApiError.OpenAiApiError> => {
  if (choice === "required") return Effect.undefined
  const name = functionOf(choice)?.["name"]
  return typeof name === "string"
    ? Effect.succeed(name)
    : Effect.fail(
        ApiError.invalid(
          param,
          `${param}: expected auto, none, required, or { "type": "function", "function": { "name": … } }`
        )
      )
}

const callOf = Effect.fnUntraced(function* (tool: unknown, index: number, argumentsKey: string) {
  const { name, parameters = { type: "object" } } = functionOf(tool) ?? {}
  const where = `tools.${index}.function`
  if (typeof name !== "string") return yield* ApiError.invalid(`${where}.name`, `${where}.name: expected a name`)
  const at = `${where}.parameters`
  const problem = SchemaGrammar.problem(parameters)
  if (problem !== undefined) return yield* ApiError.invalid(at, `${at}: ${problem}`)
  const propertiesAt = (place: string) => ({
    name: { const: name },
    [argumentsKey]: moved(parameters, `${place}/properties/${argumentsKey}`)
  })
  return { name, schemaAt: (place: string) => schemaOf(propertiesAt(place), argumentsKey) }
})

/** Maps whose keys are names rather than keywords. */
const maps = new Set(["properties", "$defs", "definitions"])
const values = new Set(["const", "enum", "default", "examples"])

/** Moves a tool's schema to its place in the whole schema; its references move with it. */
const moved = (schema: unknown, place: string): unknown => {
  if (Array.isArray(schema)) return schema.map((one) => moved(one, place))
  if (!Predicate.isReadonlyObject(schema) || schema instanceof ExactJson.Numeral) return schema
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => {
      if (key === "$ref" && typeof value === "string") return [key, `#${place}${value.slice(1)}`]
      if (values.has(key)) return [key, value]
      if (maps.has(key) && Predicate.isReadonlyObject(value))
        return [key, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, moved(one, place)]))]
      return [key, moved(value, place)]
    })
  )
}

const schemaOf = (properties: { readonly [name: string]: unknown }, argumentsKey: string) => ({
  type: "object",
  properties,
  required: ["name", argumentsKey],
  additionalProperties: false
})

const forcedBy = Effect.fnUntraced(function* (
  tools: ReadonlyArray<unknown>,
  choice: unknown,
  format: OutputFormat.OutputFormat
) {
  const toolName = yield* nameIn(choice)
  if (tools.length === 0) return yield* ApiError.invalid(param, `${param}: the request has no tools`)
  const { forcedCall } = format
  if (forcedCall === undefined) {
    return yield* ApiError.unsupported(
      param,
      `${param}: calls cannot be forced in the format ${format.name}; only auto and none are supported`
    )
  }
  const { argumentsKey, before, behind } = forcedCall
  const calls = (yield* Effect.forEach(tools, (tool, index) => callOf(tool, index, argumentsKey))).filter(
    ({ name }) => toolName === undefined || name === toolName
  )
  const [first] = calls
  if (first === undefined) return yield* ApiError.invalid(param, `${param}: the request has no tool named ${toolName}`)
  const schema =
    calls.length === 1 ? first.schemaAt("") : { anyOf: calls.map(({ schemaAt }, index) => schemaAt(`/anyOf/${index}`)) }
  const forced: Forced = {
    before,
    behind,
    schema: JSON.stringify(schema),
    sample: JSON.stringify({ name: first.name, [argumentsKey]: {} })
  }
  return forced
})

export const read = Effect.fnUntraced(function* (
  { tool_choice: input, tools: all }: { readonly [key: string]: unknown },
  format: OutputFormat.OutputFormat
) {
  const [choice, tools] = [input ?? "auto", all ?? []]
  if (!Array.isArray(tools)) return yield* ApiError.invalid("tools", "tools: a list of tools is needed")
  for (const [index, tool] of tools.entries()) {
    const type: unknown = Predicate.hasProperty(tool, "type") ? tool.type : "function"
    if (type === "function") continue
    const at = `tools.${index}.type`
    return yield* ApiError.unsupported(at, `${at}: expected function, got ${JSON.stringify(type)}`)
  }
  const isFree = choice === "auto" || choice === "none"
  return {
    tools: tools as ReadonlyArray<unknown>,
    areCalled: tools.length > 0 && choice !== "none",
    forced: isFree ? undefined : yield* forcedBy(tools, choice, format)
  }
})

/** Fails if the parser would not find the call, as with a template that starts answers with thinking. */
export const check = Effect.fnUntraced(function* ({ read }: Pick<ChatPrompt, "read">, { sample }: Forced) {
  const { toolCalls } = yield* read(sample, "stop")
  if (toolCalls.length === 1) return
  return yield* ApiError.unsupported(
    param,
    `${param}: the chat template begins answers with thinking, so a call cannot be forced; only auto and none are supported`
  )
})
