/** What goes wrong at the boundary to the trajectory service, for all of its clients. */
import { Schedule, Schema } from "effect"
import * as Retry from "../base/Retry.ts"

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
}) {
  /** Whether it is only that the service cannot be reached now: trying again makes sense. */
  get isPassing(): boolean {
    return this.reason === "unreachable" || this.reason === "overloaded"
  }
}

/** How to come back to a service that is away; ends at any other failure. */
export const reconnecting = Retry.reconnecting.pipe(
  Schedule.setInputType<TrajectoryError>(),
  Schedule.while(({ input }) => input.isPassing)
)
