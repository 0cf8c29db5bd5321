/** What went wrong at the boundary to a Tinker server. */
import { Schema } from "effect"

export const TinkerFailure = Schema.Literals([
  "address", // no address of a server, or one without the key it needs
  "stranger", // whoever answers there does not speak the protocol
  "unauthorized", // 401, 403
  "unpaid", // 402 for longer than is waited
  "refused", // any other 4xx, or an operation that failed for what was asked
  "gone", // the server does not know the session, model, future or checkpoint
  "expired", // 410: the result is gone, the operation has to be sent again
  "unavailable", // no connection, 5xx or 429 for longer than is waited
  "overloaded", // 429 to one who does not wait
  "failed", // an operation that failed on the server
  "malformed", // an answer that is not what the protocol says
  "broken" // an earlier request never reached the server: those after it wait for it for ever
])
export type TinkerFailure = typeof TinkerFailure.Type

export class TinkerError extends Schema.TaggedError<TinkerError>()("TinkerError", {
  reason: TinkerFailure,
  /** The server's address. */
  server: Schema.String,
  message: Schema.String,
  status: Schema.optionalKey(Schema.Int),
  /** What the server asked to wait, milliseconds. */
  retryAfterMillis: Schema.optionalKey(Schema.Finite),
  cause: Schema.optionalKey(Schema.Defect())
}) {}
