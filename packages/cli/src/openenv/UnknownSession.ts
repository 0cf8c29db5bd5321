import { Schema } from "effect"

/** No session over HTTP goes by this name, or several could be meant. */
export class UnknownSession extends Schema.TaggedError<UnknownSession>()("UnknownSession", {
  message: Schema.String
}) {}
