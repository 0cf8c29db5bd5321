/**
 * Errors on the server's side of the protocol.
 *
 * A rejected request is `Refused`: an HTTP error with `detail`. An accepted one has a future, which fails with
 * `OperationFailed`: of category `user` if another request would have succeeded, else `server`.
 */
import { Schema } from "effect"

export class Refused extends Schema.TaggedError<Refused>()("Refused", {
  status: Schema.Int,
  message: Schema.String
}) {}

export class OperationFailed extends Schema.TaggedError<OperationFailed>()("OperationFailed", {
  category: Schema.Literals(["user", "server"]),
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

/** An invalid request; the message states what is valid. */
export const wrong = (message: string): OperationFailed => new OperationFailed({ category: "user", message })

export const broken =
  (what: string) =>
  (cause: { readonly message: string }): OperationFailed =>
    new OperationFailed({ category: "server", message: `${what}: ${cause.message}`, cause })

export const notFound = (message: string): Refused => new Refused({ status: 404, message })

/** It no longer exists: the SDK requests it again, or stops polling. */
export const gone = (message: string): Refused => new Refused({ status: 410, message })

/** Overloaded: the SDK waits and retries. */
export const busy = (message: string): Refused => new Refused({ status: 429, message })
