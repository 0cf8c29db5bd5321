/**
 * Keeps the numbers and the key order of chats as written (`ExactJson`): the arguments of a tool call may be an object,
 * whose numbers `JSON.parse` rounds. All other numbers of a group have known types.
 */
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as ExactJson from "../../base/json/ExactJson.ts"
import * as JsonSpans from "./JsonSpans.ts"

const decoder = new TextDecoder()

/** Returns true if `JSON.parse` may have changed a number or the order of keys, which it does to integer keys. */
const mayDiffer = (value: unknown, depth = 0): boolean => {
  if (typeof value === "number") return true
  if (typeof value !== "object" || value === null || depth > JsonSpans.maxDepth) return false
  if (Array.isArray(value)) return value.some((one) => mayDiffer(one, depth + 1))
  const keys = Object.keys(value)
  return /^\d/.test(keys[0] ?? "") || Object.values(value).some((one) => mayDiffer(one, depth + 1))
}

/** An object with `messages`, which was parsed from this JSON, with these as written; any other value unchanged. */
export const keep = <A>(parsed: A, json: () => Uint8Array): A => {
  if (!Predicate.isReadonlyObject(parsed) || !mayDiffer(parsed["messages"])) return parsed
  const bytes = json()
  const span = JsonSpans.members(bytes, () => undefined)?.get("messages")
  if (span === undefined) return parsed
  // Bare NaN, which only Python's parser reads, is refused by the caller.
  const messages = Result.try(() => ExactJson.parseWritten(decoder.decode(bytes.subarray(span.start, span.end))))
  return Result.isSuccess(messages) ? { ...parsed, messages: messages.success } : parsed
}
