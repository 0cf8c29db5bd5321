/** Describes why something failed: for messages, logs and dead letters. */
// By module: threads load this file, and the index of effect would load all of it.
import * as Cause from "effect/Cause"
import * as Formatter from "effect/Formatter"
import * as Predicate from "effect/Predicate"
import type { PlatformError } from "effect"

/** Error codes of a full disk or an exhausted quota: of the system, and of Postgres. */
const fullCodes: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT", "53100"])
const full = "the disk is full"

/** True if an error, at any depth of causes, reports a full disk. */
export const isDiskFull = (error: unknown): boolean => {
  let cause = error
  for (let depth = 0; depth < 8 && Predicate.isObject(cause); depth++) {
    const { code, message, reason } = cause as { code?: unknown; message?: unknown; reason?: unknown }
    if (fullCodes.has(code)) return true
    if (typeof message === "string" && /\bENOSPC\b|no space left on device|disk quota exceeded/i.test(message))
      return true
    cause = Predicate.isObject(reason) ? reason : (cause as { cause?: unknown }).cause
  }
  return false
}

const called = (words: string, cause: unknown): string =>
  isDiskFull(cause) && !words.includes(full) ? `${full}: ${words}` : words

/** A description of anything thrown: its message if it has one, even if it is not an Error. */
export const of = (cause: unknown): string => called(wordsOf(cause), cause)

const wordsOf = (cause: unknown): string => {
  // Its own message states where Effect met the error, not the error itself.
  if (Cause.isUnknownError(cause) && cause.cause !== undefined) return of(cause.cause)
  if (cause instanceof Error && cause.message === "") return cause.name
  if (Predicate.hasProperty(cause, "message") && typeof cause.message === "string") return cause.message
  return Predicate.isObject(cause) ? Formatter.formatJson(cause) : String(cause)
}

/** The description of the first error of a cause. */
export const ofCause = (cause: Cause.Cause<unknown>): string => of(Cause.squash(cause))

/** Why a file operation failed, as reported by the operating system if possible. */
export const ofFile = (error: PlatformError.PlatformError): string => {
  const { cause } = error.reason
  return called(cause instanceof Error ? cause.message : error.message, error)
}

/** Like `ofFile` for an error of a file operation, like `of` for another one. */
export const ofFileOr = (error: { readonly message: string }): string =>
  Predicate.isTagged(error, "PlatformError") ? ofFile(error as PlatformError.PlatformError) : of(error)

/** The innermost message: "fetch failed" is unspecific, its cause reports ECONNREFUSED. */
export const root = (error: { readonly message: string; readonly cause?: unknown }): string => {
  let message = error.message
  let cause = error.cause
  for (let depth = 0; depth < 5 && cause instanceof Error; depth++) {
    // An AggregateError (every address of a name refused) has no message.
    const inner: unknown = cause instanceof AggregateError ? cause.errors[0] : undefined
    message = cause.message || (inner instanceof Error ? inner.message : message)
    cause = cause.cause
  }
  return called(message, error)
}

/** The message followed by the innermost one: `fetch failed: connect ECONNREFUSED 127.0.0.1:9`. */
export const whole = (error: Error): string => {
  const message = of(error)
  const inner = root(error)
  return message.includes(inner) ? message : `${message.replace(/\.$/, "")}: ${inner}`
}

/** A message in one line: those of schemas have several. */
export const oneLine = ({ message }: { readonly message: string }): string =>
  message.replaceAll(/(?<!\s)\s*\n\s*/g, " ")
