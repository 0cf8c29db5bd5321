/**
 * Decodes actions of OpenEnv clients: a message of the policy (`{ "message": "…" }`), optionally with tool calls, or
 * one of the MCP actions `list_tools` and `call_tool`. Errors have the format of OpenEnv's own servers, with field and
 * fault.
 */
import { ExactJson } from "@atropos/core"
import { type Driven } from "@atropos/envs"
import { Effect, Predicate, Schema, SchemaIssue } from "effect"

const Metadata = Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown)))

/** A tool call by a policy: arguments as an object, or as its JSON text. */
const Call = Schema.Struct({
  id: Schema.optionalKey(Schema.String),
  name: Schema.NonEmptyString,
  arguments: Schema.optionalKey(Schema.Union([Schema.String, Schema.Record(Schema.String, Schema.Unknown)]))
})

const Message = Schema.Struct({
  message: Schema.String,
  tool_calls: Schema.optionalKey(Schema.NullOr(Schema.Array(Call))),
  metadata: Metadata
})

const CallTool = Schema.Struct({
  type: Schema.Literal("call_tool"),
  tool_name: Schema.NonEmptyString,
  arguments: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  metadata: Metadata
})

const ListTools = Schema.Struct({ type: Schema.Literal("list_tools"), metadata: Metadata })

export type Action =
  | { readonly kind: "message"; readonly reply: Driven.Said }
  | { readonly kind: "call_tool"; readonly tool: string; readonly reply: Driven.Said }
  | { readonly kind: "list_tools" }

/** An invalid action; `errors` in pydantic's format. */
export class ActionError extends Schema.TaggedError<ActionError>()("ActionError", {
  message: Schema.String,
  errors: Schema.Array(Schema.Unknown)
}) {}

type Call = typeof Call.Type

const toCall = ({ arguments: args = {}, id, name }: Call, index: number) => ({
  id: id ?? `call_${index}`,
  type: "function",
  function: { name, arguments: typeof args === "string" ? args : (ExactJson.write(args) ?? "{}") }
})

const strict = { onExcessProperty: "error", errors: "all" } as const
const decodeMessage = Schema.decodeUnknownEffect(Message)
const decodeCallTool = Schema.decodeUnknownEffect(CallTool)
const decodeListTools = Schema.decodeUnknownEffect(ListTools)

const format = SchemaIssue.makeFormatterStandardSchemaV1()
const expected = 'an action is {"message": "what the policy says"}, with "tool_calls" where the environment has tools'

const refused = (input: unknown) => (error: Schema.SchemaError) => {
  const errors = format(error.issue).issues.map(({ message, path = [] }) => ({
    type: "invalid",
    loc: path.map((part) => String(typeof part === "object" ? part.key : part)),
    msg: message
  }))
  // A missing field is more informative than an excess one.
  const first = errors.find(({ msg }) => !msg.includes("excess")) ?? errors[0]
  const where = first === undefined ? "" : `: ${first.loc.join(".") || "action"}: ${first.msg}`
  return new ActionError({
    message: `Invalid message${where} (${expected})`,
    errors: errors.map((one) => ({ ...one, input }))
  })
}

export const decode = (input: unknown): Effect.Effect<Action, ActionError> => {
  const type = Predicate.hasProperty(input, "type") ? input.type : undefined
  if (type === "list_tools") {
    return Effect.mapBoth(decodeListTools(input, strict), {
      onFailure: refused(input),
      onSuccess: (): Action => ({ kind: "list_tools" })
    })
  }
  if (type === "call_tool") {
    return Effect.mapBoth(decodeCallTool(input, strict), {
      onFailure: refused(input),
      onSuccess: ({ arguments: args = {}, tool_name: tool }): Action => ({
        kind: "call_tool",
        tool,
        reply: { text: "", toolCalls: [toCall({ name: tool, arguments: args }, 0)] }
      })
    })
  }
  return Effect.mapBoth(decodeMessage(input, strict), {
    onFailure: refused(input),
    onSuccess: ({ message, tool_calls: calls }): Action => ({
      kind: "message",
      reply: { text: message, ...(calls && calls.length > 0 && { toolCalls: calls.map(toCall) }) }
    })
  })
}
