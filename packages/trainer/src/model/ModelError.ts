/** A model cannot be read, or is none that can be trained. */
import { Schema } from "effect"

export const ModelFailure = Schema.Literals([
  "missing", // a file or a tensor is not there
  "damaged", // a file is not what its name says
  "unsupported", // another architecture, or an option of it that is not built
  "mismatch", // a tensor's shape or type is not what the configuration says
  "settings", // what is asked of it contradicts itself
  "hub", // it cannot be fetched
  "disk" // a file cannot be written
])

export class ModelError extends Schema.TaggedError<ModelError>()("ModelError", {
  reason: ModelFailure,
  /** Folder, file or hub id. */
  model: Schema.String,
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

/** What failed while `path` was written, as a `ModelError`. */
export const unwritten =
  (path: string) =>
  (cause: { readonly message: string }): ModelError =>
    cause instanceof ModelError
      ? cause
      : new ModelError({ reason: "disk", model: path, message: `${path} cannot be written: ${cause.message}`, cause })
