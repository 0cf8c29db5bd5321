/** Why something failed, in one line, for logs and dead letters. */
import { Cause } from "effect"
import { messageOf } from "./messageOf.ts"

/** The message of the first error of a cause. */
export const reasonOf = (cause: Cause.Cause<unknown>): string => messageOf(Cause.squash(cause))
