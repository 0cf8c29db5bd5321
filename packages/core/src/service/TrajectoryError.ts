/** What goes wrong at the boundary to the trajectory service, for all of its clients. */
import { Schema } from "effect"

/** Which kind of failure it is, and so whether trying again makes sense. */
export const Reason = Schema.Literals([
  "unreachable", // no connection, a timeout, or 5xx: trying again makes sense
  "overloaded", // 429 or 503 with Retry-After
  "rejected", // 4xx: the request is wrong; `message` names the field
  "unauthorized", // 401, 403
  "notFound", // no such run, environment or batch
  "leaseLost", // the batch went to somebody else
  "unsupported" // the server at the other end cannot do this
])

export class TrajectoryError extends Schema.TaggedError<TrajectoryError>()("TrajectoryError", {
  reason: Reason,
  message: Schema.String,
  retryAfterMillis: Schema.optionalKey(Schema.Finite),
  cause: Schema.optionalKey(Schema.Defect())
}) {}

/** Whether the service is only away, so that the same request may succeed later. */
export const isPassing = ({ reason }: Pick<TrajectoryError, "reason">): boolean =>
  reason === "unreachable" || reason === "overloaded"
