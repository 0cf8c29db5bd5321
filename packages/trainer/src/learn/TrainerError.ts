/** Why training stopped. */
import { Schema } from "effect"

export const TrainerFailure = Schema.Literals([
  // Several steps in a row had a loss or gradient that is not a number, and the batch is on disk; or an update
  // overflowed the weights.
  "nonFinite",
  "mismatch", // the sampler's logprobs are not the trainer's
  "executor", // the graph cannot be loaded or run
  "engine", // a remote engine refuses, or does not answer for longer than is waited
  "engineLost", // a remote engine no longer has the weights: training goes on from the last checkpoint
  "thread", // the optimizer's thread died
  "checkpoint", // a checkpoint cannot be written or read
  "settings", // the settings contradict each other, the model or the checkpoint
  "stopped", // a rule of its health, named in stop_on, is broken
  "publish", // the new weights cannot be handed on
  "service" // the trajectory service refuses, or does not answer for longer than is waited
])

export class TrainerError extends Schema.TaggedError<TrainerError>()("TrainerError", {
  reason: TrainerFailure,
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}
