/**
 * What goes wrong on the server's side of the protocol.
 *
 * A request that cannot be taken is `Refused`: an HTTP error with `detail`. One that was taken has a future, and that
 * comes to `OperationFailed`: of category `user` where another request would have gone well, else `server`.
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

/** The request was wrong; says what would be right. */
export const wrong = (message: string): OperationFailed => new OperationFailed({ category: "user", message })

/** The server could not do it. */
export const broken =
  (what: string) =>
  (cause: { readonly message: string }): OperationFailed =>
    new OperationFailed({ category: "server", message: `${what}: ${cause.message}`, cause })

export const notFound = (message: string): Refused => new Refused({ status: 404, message })

/** It was there, and is no more: the SDK asks for it anew, or stops asking. */
export const gone = (message: string): Refused => new Refused({ status: 410, message })

/** There is too much to do: the SDK waits and comes again. */
export const busy = (message: string): Refused => new Refused({ status: 429, message })
