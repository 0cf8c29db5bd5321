/** A model cannot be read or trained. */
import * as Reason from "@atropos/core/base/Reason"
import { Schema } from "effect"

export const ModelFailure = Schema.Literals([
  "missing", // a file or a tensor does not exist
  "damaged", // a file is malformed
  "unsupported", // an unsupported architecture or option
  "mismatch", // a tensor's shape or type differs from the configuration
  "settings", // the settings contradict each other
  "hub", // it cannot be downloaded
  "disk" // a file cannot be written
])

export class ModelError extends Schema.TaggedError<ModelError>()("ModelError", {
  reason: ModelFailure,
  /** Folder, file or hub id. */
  model: Schema.String,
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

export const unwritten =
  (path: string) =>
  (cause: { readonly message: string }): ModelError =>
    cause instanceof ModelError
      ? cause
      : new ModelError({
          reason: "disk",
          model: path,
          message: `${path} cannot be written: ${Reason.ofFileOr(cause)}`,
          cause
        })
