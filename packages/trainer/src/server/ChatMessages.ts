/**
 * Reads the messages of a chat as SDKs send them: `developer` is an alias of `system`, `function` and `function_call`
 * are legacy forms of `tool` and `tool_calls`, keys with null are absent, and an answer without content or calls is
 * empty. Chat templates know only the newer forms, and would render others as unknown roles or drop them.
 */
import { Message } from "@atropos/core"
import { Effect, Predicate, Schema, SchemaIssue } from "effect"
import * as ApiError from "./OpenAiApiError.ts"

const format = SchemaIssue.makeFormatterStandardSchemaV1()
const decode = Schema.decodeUnknownEffect(Schema.Array(Message.Message).check(Schema.isMinLength(1)))

const roles: { readonly [alias: string]: string } = { developer: "system", function: "tool" }

const normalize = (input: unknown): unknown => {
  if (!Predicate.isReadonlyObject(input)) return input
  const { content = null, function_call: single, role, ...others } = input
  const keys = Object.fromEntries(Object.entries(others).filter(([, value]) => value !== null))
  const calls =
    keys["tool_calls"] ??
    (single === undefined || single === null ? [] : [{ id: "call_function", type: "function", function: single }])
  const isEmpty = Array.isArray(calls) && calls.length === 0
  return {
    ...keys,
    role: typeof role === "string" && Object.hasOwn(roles, role) ? roles[role] : role,
    content: role === "assistant" && content === null && isEmpty ? "" : content,
    ...(!isEmpty && { tool_calls: calls })
  }
}

/** Validates the messages: at most `maxTokens`, since each is at least one token; content is optional. */
export const read = Effect.fnUntraced(function* (value: unknown, maxTokens: number) {
  if (!Array.isArray(value)) return yield* ApiError.invalid("messages", "messages: a list of messages is needed")
  if (value.length > maxTokens) {
    const message = `messages: ${value.length} messages exceed the max sequence length of ${maxTokens} tokens`
    return yield* ApiError.invalid("messages", message, "context_length_exceeded")
  }
  const messages = yield* Effect.mapError(decode(value.map(normalize)), (error) => {
    const [issue] = format(error.issue).issues
    const where = ["messages", ...(issue?.path ?? []).map((step) => String(typeof step === "object" ? step.key : step))]
    return ApiError.invalid(where.join("."), `${where.join(".")}: ${issue?.message ?? error.message}`)
  })
  for (const [index, { content }] of messages.entries()) {
    const other = Array.isArray(content) ? content.find(({ type }) => type !== "text") : undefined
    if (other !== undefined) {
      const where = `messages.${index}.content`
      return yield* ApiError.unsupported(where, `${where}: only text parts are supported, not ${other.type}`)
    }
  }
  return messages
})
