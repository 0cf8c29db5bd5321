/** Errors of requests to a Tinker server. */
import { Schema } from "effect"

export const TinkerFailure = Schema.Literals([
  "address", // invalid address, or one without the required key
  "stranger", // the server does not speak the protocol
  "unauthorized", // 401, 403
  "unpaid", // 402 for longer than the time limit
  "refused", // any other 4xx, or an operation that failed because of its input
  "gone", // the server does not know the session, model, future or checkpoint
  "expired", // 410: the result is gone, the operation must be sent again
  "unavailable", // no connection, 5xx or 429 for longer than the time limit
  "overloaded", // 429 to a request that does not wait
  "failed", // an operation that failed on the server
  "malformed", // a response that violates the protocol
  "broken" // an earlier request never reached the server, so later ones would wait forever
])
export type TinkerFailure = typeof TinkerFailure.Type

export class TinkerError extends Schema.TaggedError<TinkerError>()("TinkerError", {
  reason: TinkerFailure,
  server: Schema.String,
  message: Schema.String,
  status: Schema.optionalKey(Schema.Int),
  /** Delay requested by the server, milliseconds. */
  retryAfterMillis: Schema.optionalKey(Schema.Finite),
  cause: Schema.optionalKey(Schema.Defect())
}) {}
