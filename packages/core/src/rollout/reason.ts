/** Why something failed, in one line, for logs and dead letters. */
import { Cause } from "effect"

/** The message of the first error of a cause. */
export const reasonOf = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  return error instanceof Error ? error.message : String(error)
}
