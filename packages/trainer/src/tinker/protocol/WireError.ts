/** A malformed message: truncated, of another type, or with inconsistent numbers. */
import { Schema } from "effect"

export class WireError extends Schema.TaggedError<WireError>()("WireError", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}
