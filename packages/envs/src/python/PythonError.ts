/** What goes wrong with an environment of a Python package. */
import { Schema } from "effect"

export const PythonFailure = Schema.Literals([
  "notFound", // there is no such interpreter
  "notInstalled", // it lacks the package
  "unknown", // the package has nothing of that name
  "raised", // the package raised an exception
  "ended", // the process ended, or was killed
  "protocol" // what it said is not what the bridge says
])

export class PythonError extends Schema.TaggedError<PythonError>()("PythonError", {
  reason: PythonFailure,
  message: Schema.String,
  /** The last lines of the traceback, or of what the process wrote to its standard error. */
  trace: Schema.Array(Schema.String),
  cause: Schema.optionalKey(Schema.Defect())
}) {}
