/** The words of whatever was thrown or failed with: of an error or of anything else with a message, its message. */
import { Cause, Formatter, Predicate } from "effect"

export const messageOf = (cause: unknown): string => {
  // Its own message says where Effect met the error, and not what it was.
  if (Cause.isUnknownError(cause) && cause.cause !== undefined) return messageOf(cause.cause)
  if (cause instanceof Error && cause.message === "") return cause.name
  if (Predicate.hasProperty(cause, "message") && typeof cause.message === "string") return cause.message
  return Predicate.isObject(cause) ? Formatter.formatJson(cause) : String(cause)
}
