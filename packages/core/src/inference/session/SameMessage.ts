/**
 * Whether a message that a client sends again is the one that the session knows.
 *
 * Messages of the client's own are compared as they are. An answer comes back as the client's library keeps it: without
 * the thinking, with blanks trimmed, arguments written anew, text in parts, `null` as an empty text; all that is still
 * the answer that was sampled. Other words, other calls or other thoughts are not.
 */
import { Predicate, Result } from "effect"
import * as ExactJson from "../../base/ExactJson.ts"
import * as Nesting from "../../base/Nesting.ts"
import { type Message, text as textOf, type ToolCall } from "../../Message.ts"

const isNumber = (value: unknown): value is number | bigint => typeof value === "number" || typeof value === "bigint"

/** Equal as JSON: objects in any order of their keys, numbers by their value, integers exactly. */
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

/** The same calls in the same order; an id of the client's making says nothing, the name and the arguments do. */
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

/** Whether a message of the client's own is the one it sent before. */
export const isSame = (a: Message, b: Message): boolean =>
  a === b ||
  (a.role === b.role &&
    (hasTextAlone(a) && hasTextAlone(b) ? textOf(a) === textOf(b) : isSameJson(a.content, b.content)) &&
    a.name === b.name &&
    a.tool_call_id === b.tool_call_id &&
    (a.reasoning_content ?? "") === (b.reasoning_content ?? "") &&
    areSameCalls(a.tool_calls, b.tool_calls))

/** An answer as it was given, and all of its text as the model wrote it. */
export interface Given {
  readonly message: Message
  readonly text: string
}

/** Whether a message is an answer come back. */
export const isAnswer = (message: Message, { message: given, text }: Given): boolean => {
  if (message === given) return true
  if (message.role !== given.role) return false
  const reasoning = (message.reasoning_content ?? "").trim()
  const words = textOf(message)
  const calls = message.tool_calls ?? []
  // Some keep the text itself, thinking, calls and all.
  if (reasoning === "" && calls.length === 0 && isSameButBlanks(words, text)) return true
  return (
    // OpenAI's client keeps the last piece of streamed thinking alone; none of it is the end too.
    (given.reasoning_content ?? "").trim().endsWith(reasoning) &&
    isSameButBlanks(words, textOf(given)) &&
    areSameCalls(calls, given.tool_calls)
  )
}

const isSameButBlanks = (a: string, b: string): boolean => a === b || a.trim() === b.trim()

/** Whether the calls of an answer come back under the ids they were given, of which no other answer has any. */
export const hasSameIds = ({ tool_calls: calls = [] }: Message, { tool_calls: given = [] }: Message): boolean =>
  calls.length > 0 && calls.length === given.length && calls.every(({ id }, at) => id === given[at]!.id)
