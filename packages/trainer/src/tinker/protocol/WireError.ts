/** A message that is not what its sender calls it: cut off, of another type, with numbers that do not fit together. */
import { Schema } from "effect"

export class WireError extends Schema.TaggedError<WireError>()("WireError", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}
