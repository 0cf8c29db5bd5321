/** What a verb's module gives: its command, and which of its flags are boolean. */
import type * as Effect from "effect/Effect"
import type * as Command from "effect/cli/Command"
import type { Failure } from "../base/Failure.ts"

/** A command whose input is its own business. */
export type AnyCommand = Command.Command<string, never, {}, Failure, Command.Environment>

export interface Verb {
  readonly command: AnyCommand
  /** Flags after which `True` and `False` are booleans, without the dashes. */
  readonly booleans?: ReadonlySet<string>
  /** Other spellings of its flags as the declared ones. */
  readonly spell?: (words: ReadonlyArray<string>) => ReadonlyArray<string>
}

/** Makes the verb for these words: the flags of an environment are known once `--env` is. */
export type MakeVerb = (words: ReadonlyArray<string>) => Effect.Effect<Verb, Failure, Command.Environment>
