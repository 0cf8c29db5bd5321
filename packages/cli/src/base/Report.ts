/**
 * Prints the final error line of a failed command and sets its exit code: 1 failure, 2 usage, 130 interrupted before it
 * was done.
 */
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Runtime from "effect/Runtime"
import * as Reason from "@atropos/core/base/Reason"
import * as StackFrames from "@atropos/core/base/StackFrames"
import * as StrayErrors from "@atropos/core/base/StrayErrors"
import { CommandFailed } from "./Failure.ts"

interface Described {
  readonly _tag?: string
  readonly message?: string
  readonly errors?: ReadonlyArray<unknown>
}

const describe = (error: unknown): Described =>
  typeof error === "object" && error !== null ? error : { message: String(error) }

/**
 * Prints one line for an expected failure, with all details under `--log-level debug`. A broken invariant is reported
 * as an internal error with its stack.
 */
export const print = (logLevel: string | undefined) =>
  Effect.fn("Report.print")(function* (cause: Cause.Cause<unknown>) {
    const error = describe(Cause.squash(cause))
    // The presenter of the argument parser prints usage errors.
    if (Cause.hasInterruptsOnly(cause) || error._tag === "ShowHelp") return
    const isVerbose = logLevel === "debug" || logLevel === "trace" || logLevel === "all"
    const isExpected = Cause.hasFails(cause)
    const heading = isExpected ? "atropos: " : "atropos: internal error; please report it:\n"
    const text = isExpected && !isVerbose ? error.message || error._tag : Cause.pretty(cause)
    yield* Console.error(`${heading}${text}`)
  })

/**
 * Fails with the first uncaught error that no rollout is known to have caused, or on a call of `process.exit`. The
 * command then ends as after any failure: finished work is saved and the reason printed.
 */
export const strayError: Effect.Effect<never, CommandFailed> = Effect.callback<never, CommandFailed>((resume) =>
  StrayErrors.report((cause) => resume(Effect.fail(new CommandFailed({ message: uncaught(cause), cause }))))
).pipe(Effect.ensuring(Effect.sync(() => StrayErrors.report(undefined))))

const uncaught = (cause: unknown): string => {
  if (!(cause instanceof Error)) return `uncaught error: ${Reason.of(cause)}`
  const text =
    cause instanceof StrayErrors.ExitCalled ? cause.message : `uncaught error: ${cause.name}: ${Reason.of(cause)}`
  return `${text}\n${StackFrames.trimmed(cause.stack ?? "")}`
}

export interface Ending {
  /** The work is done; interrupting what remains (a viewer that stays up) is not a failure. */
  isDone: boolean
}

export const Ending = Context.Reference<Ending>("@atropos/cli/Report/Ending", {
  defaultValue: () => ({ isDone: false })
})

/** From here on Ctrl-C exits with 0. */
export const done: Effect.Effect<void> = Effect.map(Ending, (ending) => {
  ending.isDone = true
})

/** Usage errors of the parser exit with 2; other failures carry their own code. */
export const teardown = (
  exit: Exit.Exit<unknown, unknown>,
  onExit: (code: number) => void,
  ending: Ending = { isDone: false }
): void => {
  if (ending.isDone && Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)) return onExit(0)
  if (Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)) {
    const { _tag, errors = [] } = describe(Cause.squash(exit.cause))
    if (_tag === "ShowHelp") return onExit(errors.length > 0 ? 2 : 0)
  }
  Runtime.defaultTeardown(exit, onExit)
}
