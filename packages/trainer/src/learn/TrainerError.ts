/** Reasons why training stops. */
import { Schema } from "effect"

export const TrainerFailure = Schema.Literals([
  // Several steps in a row had a NaN or infinite loss or gradient (the batch is on disk), or an update overflowed the
  // weights.
  "nonFinite",
  "mismatch", // the sampler's logprobs differ from the trainer's
  "executor", // the graph cannot be loaded or run
  "engine", // a remote engine rejects a request or does not answer in time
  "engineLost", // a remote engine lost the weights: training resumes from the last checkpoint
  "thread", // the optimizer's thread died
  "checkpoint", // a checkpoint cannot be written or read
  "settings", // the settings contradict each other, the model or the checkpoint
  "stopped", // a health rule named in stop_on is broken
  "publish", // the new weights cannot be published
  "service" // the trajectory service rejects a request or does not answer in time
])

export class TrainerError extends Schema.TaggedError<TrainerError>()("TrainerError", {
  reason: TrainerFailure,
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}
