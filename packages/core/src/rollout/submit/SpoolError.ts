/** Errors of the spool. */
import { type PlatformError, Schema } from "effect"
import * as Reason from "../../base/Reason.ts"

/** The disk is full, the spool's limit is reached, or a file is damaged. */
export class SpoolError extends Schema.TaggedError<SpoolError>()("SpoolError", {
  path: Schema.String,
  message: Schema.String,
  isFull: Schema.Boolean,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

export const failing =
  (file: string) =>
  (cause: PlatformError.PlatformError): SpoolError =>
    new SpoolError({
      path: file,
      message: `cannot use the spool file ${file}: ${Reason.ofFile(cause)}. Free disk space or choose another spool folder`,
      isFull: /ENOSPC|EDQUOT|no space/i.test(Reason.ofFile(cause)),
      cause
    })

/** A file has content that no spool has written. */
export const damaged =
  (file: string, message = `the spool file ${file} is corrupt; left in place`) =>
  (cause: unknown): SpoolError =>
    new SpoolError({ path: file, message, isFull: false, cause })
