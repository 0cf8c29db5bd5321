/**
 * How a command ends when it does not succeed: `UsageError` (exit 2: the words or a file are wrong) or `CommandFailed`
 * (exit 1; 3 where `stop_on` ended a run).
 */
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"

/** What was typed or written in a file is wrong; the message names it and says what would be right. */
export class UsageError extends Schema.TaggedError<UsageError>()("UsageError", { message: Schema.String }) {
  override readonly [Runtime.errorExitCode] = 2
}

/** The command could not do its work, or found what it looks for: violations, broken parts, a dead server. */
export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect()),
  /** 3: a run was ended by its own rules (`stop_on`). */
  exitCode: Schema.optionalKey(Schema.Literal(3))
}) {
  override readonly [Runtime.errorExitCode] = this.exitCode ?? 1
}

export type Failure = UsageError | CommandFailed
