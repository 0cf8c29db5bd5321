/**
 * Compares a message that a client sends back with the recorded one.
 *
 * The client's own messages must be identical. An answer may come back as client libraries store it: without reasoning,
 * trimmed, with re-serialized arguments, text in parts, `null` instead of an empty text. Different text, calls or
 * reasoning do not match.
 */
import { Predicate, Result } from "effect"
import * as ExactJson from "../../base/json/ExactJson.ts"
import * as Nesting from "../../base/json/Nesting.ts"
import { type Message, text as textOf, type ToolCall } from "../../trajectory/Message.ts"

const isNumber = (value: unknown): value is number | bigint => typeof value === "number" || typeof value === "bigint"

/** Equal as JSON: objects in any key order, numbers by value, integers exactly. */
export const isSameJson = (a: unknown, b: unknown): boolean => {
  if (a === b) return true
  // 1e20 is a double, and equal to an integer with the same value.
  if (typeof a === "bigint" || typeof b === "bigint") return isNumber(a) && isNumber(b) && a == b
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((one, at) => isSameJson(one, b[at]))
  if (!Predicate.isReadonlyObject(a) || !Predicate.isReadonlyObject(b)) return false
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && isSameJson(a[key], b[key]))
  )
}

const parsed = (json: string): unknown =>
  Nesting.isDeep(json)
    ? json
    : Result.getOrElse(
        Result.try(() => ExactJson.parse(json)),
        () => json
      )

const isSameText = (a: string, b: string): boolean => a === b || isSameJson(parsed(a), parsed(b))

/** Compares calls by order, name and arguments; client-generated ids are ignored. */
const areSameCalls = (a: ReadonlyArray<ToolCall> = [], b: ReadonlyArray<ToolCall> = []): boolean =>
  a === b ||
  (a.length === b.length &&
    a.every((call, at) => {
      const other = b[at]!
      return (
        call === other ||
        (call.function.name === other.function.name && isSameText(call.function.arguments, other.function.arguments))
      )
    }))

const hasTextAlone = ({ content }: Message): boolean =>
  !Array.isArray(content) || content.every(({ type }) => type === "text")

/** True if a client's own message is identical to an earlier one. */
export const isSame = (a: Message, b: Message): boolean =>
  a === b ||
  (a.role === b.role &&
    (hasTextAlone(a) && hasTextAlone(b) ? textOf(a) === textOf(b) : isSameJson(a.content, b.content)) &&
    a.name === b.name &&
    a.tool_call_id === b.tool_call_id &&
    (a.reasoning_content ?? "") === (b.reasoning_content ?? "") &&
    areSameCalls(a.tool_calls, b.tool_calls))

/** An answer as returned to the client, and its full text as the model wrote it. */
export interface Given {
  readonly message: Message
  readonly text: string
}

/** True if a message is this answer sent back. */
export const isAnswer = (message: Message, { message: given, text }: Given): boolean => {
  if (message === given) return true
  if (message.role !== given.role) return false
  const reasoning = (message.reasoning_content ?? "").trim()
  const words = textOf(message)
  const calls = message.tool_calls ?? []
  // Some clients keep the raw text, with reasoning, calls and all.
  if (reasoning === "" && calls.length === 0 && isSameButBlanks(words, text)) return true
  return (
    // OpenAI's client keeps only the last delta of streamed reasoning; empty counts as a suffix too.
    (given.reasoning_content ?? "").trim().endsWith(reasoning) &&
    isSameButBlanks(words, textOf(given)) &&
    areSameCalls(calls, given.tool_calls)
  )
}

const isSameButBlanks = (a: string, b: string): boolean => a === b || a.trim() === b.trim()

/** True if an answer's calls come back under their original ids, which are unique to it. */
export const hasSameIds = ({ tool_calls: calls = [] }: Message, { tool_calls: given = [] }: Message): boolean =>
  calls.length > 0 && calls.length === given.length && calls.every(({ id }, at) => id === given[at]!.id)
