/** A required component other than the policy that is not configured. */
import { Schema } from "effect"

export class NotConfigured extends Schema.TaggedError<NotConfigured>()("NotConfigured", {
  what: Schema.String,
  message: Schema.String
}) {}

export const make = (what: string, remedy: string): NotConfigured =>
  new NotConfigured({ what, message: `this environment needs a ${what}, but none is configured: set ${remedy}` })
