/**
 * Reads the tools of the Responses API: functions, tools of free text (`custom`), and both in namespaces.
 *
 * The model is shown functions only. One in a namespace is named `namespace__name`, except in `functions`, the default
 * namespace; a tool of free text has the text as its argument `input`. Answers name them as the request does
 * (`Declared`). Tools that OpenAI runs (`web_search`) are dropped and counted; those that a client runs by their type
 * alone (`local_shell`) are rejected by name. `strict` is ignored: answers are not constrained by a schema.
 */
import { Effect, Schema } from "effect"
import * as Normalize from "../Normalize.ts"
import type { Failure } from "../Dialect.ts"
import * as HostedTools from "../HostedTools.ts"
import * as OpenAiFailure from "../OpenAiFailure.ts"
import * as Reading from "../Reading.ts"
import * as OutputConstraints from "../OutputConstraints.ts"

const description = Schema.optionalKey(Schema.NullOr(Schema.String))
const readKind = Reading.reader(Schema.Struct({ type: Schema.NonEmptyString }))
const readFunction = Reading.reader(
  Schema.Struct({
    name: Schema.NonEmptyString,
    description,
    parameters: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown))),
    strict: Schema.optionalKey(Schema.NullOr(Schema.Boolean))
  })
)
const readCustom = Reading.reader(
  Schema.Struct({ name: Schema.NonEmptyString, description, format: Schema.optionalKey(Schema.Unknown) })
)
const readNamespace = Reading.reader(
  Schema.Struct({ name: Schema.NonEmptyString, tools: Schema.Array(Schema.Unknown) })
)
const readList = Reading.reader(Schema.Array(Schema.Unknown))

/** A tool as the client knows it. */
export interface Declared {
  readonly name: string
  readonly namespace?: string
  readonly isCustom: boolean
}

/** Tools by the names that the model is shown; absent for plain functions. */
export type Names = ReadonlyMap<string, Declared>

export interface Tools {
  readonly tools: ReadonlyArray<unknown>
  readonly names: Names
  readonly ignored: ReadonlyArray<string>
}

const defaultNamespace = "functions"

/** The name that the model is shown. */
export const nameOf = (name: string, namespace: string | null | undefined): string =>
  namespace === undefined || namespace === null || namespace === defaultNamespace
    ? name
    : `${namespace.replace(/(?<!_)_+$/, "")}__${name}`

/** The argument of a tool of free text. */
const inputKey = "input"
const inputSchema = { type: "object", properties: { [inputKey]: { type: "string" } }, required: [inputKey] }

export const customArguments = (input: string): string => JSON.stringify({ [inputKey]: input })

const readInput = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct({ [inputKey]: Schema.String })))

/** The free text of a call; all of its arguments if the model gave it in another form. */
export const customInput = (text: string): string => {
  const read = readInput(text)
  return read._tag === "Some" ? read.value[inputKey] : text
}

/** The request's tools, in the form of chat templates. */
export const decode = Effect.fnUntraced(function* (
  lists: ReadonlyArray<{ readonly value: unknown; readonly param: string }>
): Effect.fn.Return<Tools, Failure> {
  const tools: Array<unknown> = []
  const names = new Map<string, Declared>()
  const ignored = new Set<string>()

  const add = Effect.fnUntraced(function* (tool: unknown, param: string, namespace: string | undefined) {
    const { type } = yield* readKind(tool, param)
    if (HostedTools.isHosted(type)) return void ignored.add(`tools.${type}`)
    if (!["function", "custom"].includes(type)) {
      return yield* OpenAiFailure.unsupported(
        `${param}.type`,
        `a tool of type ${JSON.stringify(type)} is not supported; use a "function" and run it in your program`
      )
    }
    const isCustom = type === "custom"
    const { description, name, ...source } = isCustom
      ? yield* readCustom(tool, param)
      : yield* readFunction(tool, param)
    if ("strict" in source && source.strict === true) ignored.add("tools.strict")
    if ("format" in source && source.format !== undefined) ignored.add("tools.format")
    const fullName = nameOf(name, namespace)
    if (names.has(fullName)) return yield* OpenAiFailure.invalid(`${param}.name`, `two tools are named ${fullName}`)
    if (isCustom || namespace !== undefined) {
      names.set(fullName, { name, isCustom, ...(namespace !== undefined && { namespace }) })
    }
    const parameters = isCustom ? inputSchema : "parameters" in source ? source.parameters : undefined
    tools.push(
      Normalize.tool({
        name: fullName,
        ...(typeof description === "string" && { description }),
        ...(parameters !== undefined && parameters !== null && { parameters })
      })
    )
  })

  for (const { param: list, value } of lists) {
    for (const [at, tool] of (yield* readList(value ?? [], list)).entries()) {
      const param = `${list}[${at}]`
      if ((yield* readKind(tool, param)).type !== "namespace") {
        yield* add(tool, param, undefined)
        continue
      }
      const { name, tools: inside } = yield* readNamespace(tool, param)
      for (const [index, one] of inside.entries()) yield* add(one, `${param}.tools[${index}]`, name)
    }
  }
  return { tools, names, ignored: [...ignored] }
})

export interface Choice {
  readonly toolChoice: "auto" | "none"
  readonly forced: OutputConstraints.OutputConstraint | undefined
}

const readNamed = Reading.reader(
  Schema.Struct({ type: Schema.Literals(["function", "custom"]), name: Schema.NonEmptyString })
)

/** The request's tool choice; a forced call is an output constraint. */
export const decodeChoice = Effect.fnUntraced(function* (
  value: unknown,
  { names, tools }: Tools
): Effect.fn.Return<Choice, Failure> {
  if (value === undefined || value === "auto") return { toolChoice: "auto", forced: undefined }
  if (value === "none") return { toolChoice: "none", forced: undefined }
  if (typeof value === "string" && value !== "required") {
    return yield* OpenAiFailure.invalid("tool_choice", `expected "auto", "none", "required" or a function`)
  }
  if (OutputConstraints.isAllowedTools(value)) {
    return yield* OpenAiFailure.unsupported("tool_choice", OutputConstraints.allowedToolsAdvice)
  }
  const name = value === "required" ? undefined : (yield* readNamed(value, "tool_choice")).name
  const isDeclared = [...names.values()].some((declared) => declared.name === name)
  const problem = OutputConstraints.unforceable(tools, isDeclared ? undefined : name)
  if (problem !== undefined) return yield* OpenAiFailure.invalid("tool_choice", problem)
  return { toolChoice: "auto", forced: OutputConstraints.choice("tool_choice", name) }
})
