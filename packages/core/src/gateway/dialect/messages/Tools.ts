/**
 * Reads `tools` and `tool_choice` of a request.
 *
 * A tool that Anthropic's servers run (`web_search_…`) is dropped and counted. One that the client runs and that is
 * defined only by its type (`bash_20250124`) is rejected by name, because the model was not trained on it. A tool that
 * is to be found by search (`defer_loading`) is in the prompt like any other.
 *
 * A forced call is an output constraint (`OutputConstraints`).
 */
import { Effect, Predicate, Schema } from "effect"
import * as HostedTools from "../HostedTools.ts"
import * as Normalize from "../Normalize.ts"
import * as OutputConstraints from "../OutputConstraints.ts"
import * as MessagesBlocks from "./Blocks.ts"
import * as MessagesErrors from "./Errors.ts"

type Ignored = MessagesBlocks.Ignored

const Tool = Schema.Struct({
  name: Schema.NonEmptyString,
  description: Schema.optionalKey(Schema.NullOr(Schema.String)),
  input_schema: Schema.Record(Schema.String, Schema.Unknown)
})
const readTool = MessagesBlocks.reader(Tool)

const Choice = Schema.Struct({
  type: Schema.Literals(["auto", "any", "tool", "none"]),
  name: Schema.optionalKey(Schema.NullOr(Schema.NonEmptyString)),
  disable_parallel_tool_use: Schema.optionalKey(Schema.NullOr(Schema.Boolean))
})
const readChoice = MessagesBlocks.reader(Choice)

/** Known keys: without effect, or affecting only how early the input is streamed. */
const known = [
  "type",
  "name",
  "description",
  "input_schema",
  "eager_input_streaming",
  "allowed_callers",
  "defer_loading"
]

const isDirect = (callers: unknown): boolean =>
  callers === undefined || callers === null || (Array.isArray(callers) && callers.includes("direct"))

const tool = Effect.fnUntraced(function* (input: unknown, param: string, ignored: Ignored) {
  const fields = Predicate.isReadonlyObject(input) ? input : {}
  const type = fields["type"]
  if (type !== undefined && type !== null && type !== "custom") {
    return yield* MessagesErrors.unsupported(
      param,
      `the tool ${JSON.stringify(type)} is defined by its type alone, which neither this model nor the gateway supports: ` +
        "define a custom tool with name, description and input_schema"
    )
  }
  if (!isDirect(fields["allowed_callers"])) {
    return yield* MessagesErrors.unsupported(
      `${param}.allowed_callers`,
      'only "direct" is supported: tools are called by the model'
    )
  }
  if (fields["defer_loading"] === true) ignored.add("tools.defer_loading")
  const { description, input_schema: parameters, name } = yield* readTool(input, param)
  for (const key of Object.keys(fields)) {
    if (!known.includes(key) && fields[key] !== null) ignored.add(`tools.${key}`)
  }
  return {
    name,
    definition: Normalize.tool({ name, ...(typeof description === "string" && { description }), parameters })
  }
})

/** The tools in OpenAI's form, as used by chat templates. */
export const read = Effect.fnUntraced(function* (input: unknown, ignored: Ignored) {
  if (input === undefined || input === null) return []
  if (!Array.isArray(input)) return yield* MessagesErrors.invalid("tools", "must be a list of tools")
  const tools = new Map<string, unknown>()
  for (const [index, one] of input.entries()) {
    const type = Predicate.isReadonlyObject(one) ? one["type"] : undefined
    if (HostedTools.isHosted(type)) {
      ignored.add(`tools.${type}`)
      continue
    }
    const { definition, name } = yield* tool(one, `tools.${index}`, ignored)
    if (tools.has(name)) {
      return yield* MessagesErrors.invalid(`tools.${index}.name`, `two tools are named ${name}`)
    }
    tools.set(name, definition)
  }
  return [...tools.values()]
})

export interface Chosen {
  /** Undefined if the request does not state it. */
  readonly toolChoice: "auto" | "none" | undefined
  readonly constraints: ReadonlyArray<OutputConstraints.OutputConstraint | undefined>
}

/** The effective tool choice, and its output constraints. */
export const choice = Effect.fnUntraced(function* (input: unknown, tools: ReadonlyArray<unknown>) {
  if (input === undefined || input === null) return { toolChoice: undefined, constraints: [] } satisfies Chosen
  const { disable_parallel_tool_use: isSingle, name, type } = yield* readChoice(input, "tool_choice")
  const isForced = type === "any" || type === "tool"
  if (type === "tool" && typeof name !== "string") {
    return yield* MessagesErrors.invalid("tool_choice.name", "must be the name of a tool")
  }
  const named = type === "tool" ? (name ?? undefined) : undefined
  const problem = isForced ? OutputConstraints.unforceable(tools, named) : undefined
  if (problem !== undefined) return yield* MessagesErrors.invalid("tool_choice", problem)
  return {
    toolChoice: type === "none" ? "none" : "auto",
    constraints: [
      isForced ? OutputConstraints.choice("tool_choice", named) : undefined,
      isSingle === true ? OutputConstraints.singleCall("tool_choice.disable_parallel_tool_use") : undefined
    ]
  } satisfies Chosen
})
