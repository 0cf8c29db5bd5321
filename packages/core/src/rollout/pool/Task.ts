/** An item on its way through the pool, and the possible outcomes of an attempt. */
import { Cause } from "effect"
import { EnvironmentError, type Work } from "../../Environment.ts"
import { isDefinitionFault } from "../../definition/EnvironmentError.ts"
import { InferenceError } from "../../inference/wire/Inference.ts"
import * as Reason from "../../base/Reason.ts"

export interface Task {
  /** The item's position in the stream; requeued items have that of their origin. */
  readonly index: number
  /** `index`, then one number per requeue. */
  readonly path: string
  readonly work: Work
  readonly failures: number
  /** Already held: a retried or requeued item. */
  readonly isRetry: boolean
}

export interface Failure {
  readonly reason: string
  readonly kind: "failed" | "died" | "timeout"
  readonly cause: Cause.Cause<unknown>
}

/** Why an attempt failed. */
export const failureOf = (cause: Cause.Cause<unknown>): Failure => {
  const error = Cause.squash(cause)
  if (Cause.isTimeoutError(error)) return { kind: "timeout", reason: error.message, cause }
  const hasDied = !Cause.hasFails(cause) || isDefinitionFault(error)
  return { kind: hasDied ? "died" : "failed", reason: Reason.ofCause(cause), cause }
}

const outages: ReadonlySet<string> = new Set(["unreachable", "overloaded", "noServer"])

/** True if the inference servers are unavailable, which is not the item's fault. */
export const isOutage = (error: unknown): boolean =>
  error instanceof EnvironmentError && error.cause instanceof InferenceError && outages.has(error.cause.reason)
