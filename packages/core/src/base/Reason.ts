/** Why something failed, in words: for messages, logs and dead letters. */
// By module: threads load this file, and the index of effect would bring all of it.
import * as Cause from "effect/Cause"
import * as Formatter from "effect/Formatter"
import * as Predicate from "effect/Predicate"
import type { PlatformError } from "effect"

/** Codes of a full disk, or of a quota that is used up: of the system, and of Postgres. */
const fullCodes: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT", "53100"])
const full = "the disk is full"

/** Whether a disk has no room left, however deep an error says so. */
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

/** The words of anything thrown or failed with: its message where it has one, also where it is no error. */
export const of = (cause: unknown): string => called(wordsOf(cause), cause)

const wordsOf = (cause: unknown): string => {
  // Its own message says where Effect met the error, and not what it was.
  if (Cause.isUnknownError(cause) && cause.cause !== undefined) return of(cause.cause)
  if (cause instanceof Error && cause.message === "") return cause.name
  if (Predicate.hasProperty(cause, "message") && typeof cause.message === "string") return cause.message
  return Predicate.isObject(cause) ? Formatter.formatJson(cause) : String(cause)
}

/** The words of the first error of a cause. */
export const ofCause = (cause: Cause.Cause<unknown>): string => of(Cause.squash(cause))

/** Why a file could not be had, in the operating system's words where it gave any. */
export const ofFile = (error: PlatformError.PlatformError): string => {
  const { cause } = error.reason
  return called(cause instanceof Error ? cause.message : error.message, error)
}

/** The innermost message: "fetch failed" says nothing, its cause says ECONNREFUSED. */
export const root = (error: { readonly message: string; readonly cause?: unknown }): string => {
  let message = error.message
  let cause = error.cause
  for (let depth = 0; depth < 5 && cause instanceof Error; depth++) {
    // An AggregateError (every address of a name refused) has no text of its own.
    const inner: unknown = cause instanceof AggregateError ? cause.errors[0] : undefined
    message = cause.message || (inner instanceof Error ? inner.message : message)
    cause = cause.cause
  }
  return called(message, error)
}

/** The message with the innermost one behind it: `fetch failed: connect ECONNREFUSED 127.0.0.1:9`. */
export const whole = (error: Error): string => {
  const message = of(error)
  const inner = root(error)
  return message.includes(inner) ? message : `${message.replace(/\.$/, "")}: ${inner}`
}

/** A message in one line: those of schemas take several. */
export const oneLine = ({ message }: { readonly message: string }): string =>
  message.replaceAll(/(?<!\s)\s*\n\s*/g, " ")
