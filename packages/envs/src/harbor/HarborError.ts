/** Raised if a task directory cannot be read or run, or a container is unavailable; never for the agent's behaviour. */
import { Schema } from "effect"

export class HarborError extends Schema.TaggedError<HarborError>()("HarborError", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}
