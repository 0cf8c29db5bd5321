/** Failures of an environment of a Python package. */
import { Schema } from "effect"

export const PythonFailure = Schema.Literals([
  "notFound", // interpreter not found
  "notInstalled", // it lacks the package
  "unknown", // the package has nothing of that name
  "raised", // the package raised an exception
  "ended", // the process ended, or was killed
  "protocol" // its output is not the bridge's protocol
])

export class PythonError extends Schema.TaggedError<PythonError>()("PythonError", {
  reason: PythonFailure,
  message: Schema.String,
  /** The last lines of the traceback, or of the process's standard error. */
  trace: Schema.Array(Schema.String),
  cause: Schema.optionalKey(Schema.Defect())
}) {}
