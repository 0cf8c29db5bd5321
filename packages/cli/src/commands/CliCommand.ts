/** Defines what the module of a subcommand exports: its command and the names of its boolean flags. */
import type * as Effect from "effect/Effect"
import type * as Command from "effect/cli/Command"
import type { Failure } from "../base/Failure.ts"

/** A command with its input type erased. */
export type AnyCommand = Command.Command<string, never, {}, Failure, Command.Environment>

export interface CliCommand {
  readonly command: AnyCommand
  /** Flags that accept `True` and `False`, without the dashes. */
  readonly booleans?: ReadonlySet<string>
  /** Normalizes alternative spellings of its flags to the declared ones. */
  readonly normalizeArgs?: (words: ReadonlyArray<string>) => ReadonlyArray<string>
}

/** Creates the command for these arguments: the flags of an environment are only known once `--env` is. */
export type MakeCommand = (words: ReadonlyArray<string>) => Effect.Effect<CliCommand, Failure, Command.Environment>
