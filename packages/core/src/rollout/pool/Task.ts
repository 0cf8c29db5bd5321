/** An item on its way through the pool, and how an attempt at it may end. */
import { Cause } from "effect"
import { EnvironmentError, type Work } from "../../Environment.ts"
import { isDefinitionFault } from "../../EnvironmentError.ts"
import { InferenceError } from "../../inference/backend/Inference.ts"
import * as Reason from "../../base/Reason.ts"

export interface Task {
  /** The item's place in the stream; items put back have that of the item they came from. */
  readonly index: number
  /** `index`, then one number per time it was put back. */
  readonly path: string
  readonly work: Work
  /** Attempts that failed before. */
  readonly failures: number
  /** Held already: an item that is tried again, or was put back. */
  readonly isRetry: boolean
}

export interface Failure {
  readonly reason: string
  readonly kind: "failed" | "died" | "timeout"
  readonly cause: Cause.Cause<unknown>
}

/** Why an attempt failed; `timeoutSeconds` was its limit. */
export const failureOf = (cause: Cause.Cause<unknown>, timeoutSeconds: number): Failure => {
  const error = Cause.squash(cause)
  if (Cause.isTimeoutError(error))
    return { kind: "timeout", reason: `took longer than ${timeoutSeconds} seconds`, cause }
  const hasDied = !Cause.hasFails(cause) || isDefinitionFault(error)
  return { kind: hasDied ? "died" : "failed", reason: Reason.ofCause(cause), cause }
}

const outages: ReadonlySet<string> = new Set(["unreachable", "overloaded", "noServer"])

/** Whether the inference servers are away: that is not the item's fault. */
export const isOutage = (error: unknown): boolean =>
  error instanceof EnvironmentError && error.cause instanceof InferenceError && outages.has(error.cause.reason)
