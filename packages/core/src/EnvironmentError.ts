/** How environments fail; they live apart so that whoever closes an environment over its items can raise them. */
import { Schema } from "effect"

/** The group cannot be judged (broken reference, judge undecided): it is counted and skipped, nothing else happens. */
export class Unscorable extends Schema.TaggedError<Unscorable>()("Unscorable", { message: Schema.String }) {}

/** A rollout, an evaluation or the item source failed; `cause` is the environment's own error. */
export class EnvironmentError extends Schema.TaggedError<EnvironmentError>()("EnvironmentError", {
  environment: Schema.String,
  message: Schema.String,
  cause: Schema.Defect()
}) {}
