/**
 * Reads a chat of a row, as OpenAI's API and as data sets of Hugging Face have it: there a call's `arguments` may be an
 * object instead of its JSON text, and keys that other messages have are null.
 */
import { Option, Predicate, Schema } from "effect"
import * as ExactJson from "../base/json/ExactJson.ts"
import * as Message from "../trajectory/Message.ts"

const decode = Schema.decodeUnknownOption(Schema.NonEmptyArray(Message.Message))

type Fields = { readonly [key: string]: unknown }

const changed = (value: unknown, change: (fields: Fields) => Fields): unknown =>
  Predicate.isReadonlyObject(value) && !Array.isArray(value) ? change(value) : value

const withoutNulls = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined))

const listOf = (value: unknown, change: (fields: Fields) => Fields): unknown =>
  Array.isArray(value) ? value.map((one) => changed(one, change)) : value

const withText = (called: Fields): Fields =>
  Predicate.isReadonlyObject(called["arguments"])
    ? { ...called, arguments: ExactJson.write(called["arguments"]) }
    : called

const call = (fields: Fields): Fields => ({
  ...withoutNulls(fields),
  function: changed(fields["function"], withText)
})

const message = (fields: Fields): Fields => {
  const { content, tool_calls: calls } = fields
  const isAnswer = content !== undefined || Array.isArray(calls)
  return {
    ...withoutNulls(fields),
    ...(isAnswer && { content: listOf(content ?? null, withoutNulls) }),
    ...(Array.isArray(calls) && { tool_calls: listOf(calls, call) })
  }
}

/** The messages; undefined if the value is not a chat. */
export const read = (value: unknown): ReadonlyArray<Message.Message> | undefined =>
  Option.getOrUndefined(decode(listOf(value, message)))
