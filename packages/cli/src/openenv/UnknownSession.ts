import { Schema } from "effect"

/** No HTTP session has this name, or the name is ambiguous. */
export class UnknownSession extends Schema.TaggedError<UnknownSession>()("UnknownSession", {
  message: Schema.String
}) {}
