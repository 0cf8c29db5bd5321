/** Errors of all clients of the trajectory service. */
import { Schedule, Schema } from "effect"
import * as Retry from "../base/Retry.ts"

/** The kind of failure, which determines if a retry makes sense. */
export const Reason = Schema.Literals([
  "unreachable", // no connection, a timeout, or 5xx: retry
  "overloaded", // 429 or 503 with Retry-After
  "rejected", // 4xx: the request is wrong; `message` names the field
  "unauthorized", // 401, 403
  "notFound", // no such run, environment or batch
  "leaseLost", // another trainer has the batch
  "unsupported" // the server does not support this
])

export class TrajectoryError extends Schema.TaggedError<TrajectoryError>()("TrajectoryError", {
  reason: Reason,
  message: Schema.String,
  retryAfterMillis: Schema.optionalKey(Schema.Finite),
  cause: Schema.optionalKey(Schema.Defect())
}) {
  /** True if the service is only temporarily unavailable: a retry makes sense. */
  get isPassing(): boolean {
    return this.reason === "unreachable" || this.reason === "overloaded"
  }
}

/** Retries while the service is unavailable; ends at any other failure. */
export const reconnecting = Retry.reconnecting.pipe(
  Schedule.setInputType<TrajectoryError>(),
  Schedule.while(({ input }) => input.isPassing)
)
