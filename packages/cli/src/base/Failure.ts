/**
 * Defines the failures of a command: `UsageError` (exit 2: wrong arguments or file content) or `CommandFailed` (exit 1;
 * 3 if `stop_on` ended a run).
 */
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"

/** The arguments or a file are wrong; the message names the mistake and the expected form. */
export class UsageError extends Schema.TaggedError<UsageError>()("UsageError", { message: Schema.String }) {
  override readonly [Runtime.errorExitCode] = 2
}

/** The command could not do its work, or found problems: violations, broken parts, a dead server. */
export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect()),
  /** 3: `stop_on` ended the run. */
  exitCode: Schema.optionalKey(Schema.Literal(3))
}) {
  override readonly [Runtime.errorExitCode] = this.exitCode ?? 1
}

export type Failure = UsageError | CommandFailed
