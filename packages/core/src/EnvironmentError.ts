/** How environments fail; they live apart so that whoever closes an environment over its items can raise them. */
import { Predicate, Schema } from "effect"

/** The group cannot be judged (broken reference, judge undecided): it is counted and skipped, nothing else happens. */
export class Unscorable extends Schema.TaggedError<Unscorable>()("Unscorable", { message: Schema.String }) {}

/** A rollout, an evaluation or the item source failed; `cause` is the environment's own error. */
export class EnvironmentError extends Schema.TaggedError<EnvironmentError>()("EnvironmentError", {
  environment: Schema.String,
  message: Schema.String,
  cause: Schema.Defect()
}) {}

/**
 * A mistake in the environment's own file: a function of its definition threw or gave something that it must not, or
 * the definition has keys that mean nothing. The cause of an `EnvironmentError`; trying again would only repeat it.
 */
export class DefinitionFault extends Schema.TaggedError<DefinitionFault>()("DefinitionFault", {
  /** Whose mistake it is: `score`, `evaluation.collectTrajectories`. */
  part: Schema.String,
  /** With file and line, where something was thrown. */
  message: Schema.String,
  /** What was thrown, if anything was: an error without the frames that are not its author's. */
  cause: Schema.optionalKey(Schema.Defect())
}) {}

/**
 * No rollout of the environment can ever succeed: an agent that never asks the model. The cause of an
 * `EnvironmentError` that ends the environment's run instead of its item's alone.
 */
export class EnvironmentUnusable extends Schema.TaggedError<EnvironmentUnusable>()("EnvironmentUnusable", {
  message: Schema.String
}) {}

/** Whether the error ends the run of its environment. By tags: a loader may have brought the classes a second time. */
export const isUnusable = (error: unknown): error is EnvironmentError =>
  Predicate.isTagged(error, "EnvironmentError") &&
  Predicate.hasProperty(error, "cause") &&
  Predicate.isTagged(error.cause, "EnvironmentUnusable")

/** Whether something failed for a mistake in an environment's file. */
export const isDefinitionFault = (error: unknown): boolean =>
  error instanceof EnvironmentError && error.cause instanceof DefinitionFault
