/** A checkpoint cannot be written or read. */
import * as Reason from "@atropos/core/base/Reason"
import { Schema } from "effect"

export class CheckpointError extends Schema.TaggedError<CheckpointError>()("CheckpointError", {
  path: Schema.String,
  reason: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {
  override get message() {
    return `${this.path}: ${this.reason}`
  }
}

export const at =
  (path: string) =>
  (cause: { readonly message: string }): CheckpointError =>
    new CheckpointError({ path, reason: Reason.ofFileOr(cause), cause })
