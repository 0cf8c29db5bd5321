/** Errors of environments, in a separate module so that `BoundEnvironment` can raise them. */
import { Predicate, Schema } from "effect"

/** The group cannot be judged (broken reference, judge undecided): it is counted and skipped, with no other effect. */
export class Unscorable extends Schema.TaggedError<Unscorable>()("Unscorable", { message: Schema.String }) {}

/** A rollout, an evaluation or the item source failed; `cause` is the environment's own error. */
export class EnvironmentError extends Schema.TaggedError<EnvironmentError>()("EnvironmentError", {
  environment: Schema.String,
  message: Schema.String,
  cause: Schema.Defect()
}) {}

/**
 * A mistake in the environment's own file: a function of its definition threw or returned an invalid value, or the
 * definition has unknown keys. The cause of an `EnvironmentError`; not retried, because it would fail again.
 */
export class DefinitionFault extends Schema.TaggedError<DefinitionFault>()("DefinitionFault", {
  /** The part at fault: `score`, `evaluation.collectTrajectories`. */
  part: Schema.String,
  /** Includes file and line if something was thrown. */
  message: Schema.String,
  /** The thrown error, if any, with only the author's stack frames. */
  cause: Schema.optionalKey(Schema.Defect())
}) {}

/**
 * No rollout of the environment can ever succeed, for example because an agent never calls the model. As the cause of
 * an `EnvironmentError` it ends the environment's run instead of just its item.
 */
export class EnvironmentUnusable extends Schema.TaggedError<EnvironmentUnusable>()("EnvironmentUnusable", {
  message: Schema.String
}) {}

/**
 * True if the error ends the run of its environment. Compares tags, because a loader may have loaded the classes twice.
 */
export const isUnusable = (error: unknown): error is EnvironmentError =>
  Predicate.isTagged(error, "EnvironmentError") &&
  Predicate.hasProperty(error, "cause") &&
  Predicate.isTagged(error.cause, "EnvironmentUnusable")

/** True if the failure is due to a mistake in an environment's file. */
export const isDefinitionFault = (error: unknown): boolean =>
  error instanceof EnvironmentError && error.cause instanceof DefinitionFault
