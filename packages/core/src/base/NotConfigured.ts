/** Something beside the policy that an environment cannot do without, and that nobody configured. */
import { Schema } from "effect"

export class NotConfigured extends Schema.TaggedError<NotConfigured>()("NotConfigured", {
  /** `judge`, `teacher`, … */
  what: Schema.String,
  message: Schema.String
}) {}

export const make = (what: string, remedy: string): NotConfigured =>
  new NotConfigured({ what, message: `this environment needs a ${what}, and none is configured: give ${remedy}` })
