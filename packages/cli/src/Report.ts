/** The last line of a command that failed, and its exit code: 1 failure, 2 usage, 130 interrupted. */
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as References from "effect/References"
import * as Runtime from "effect/Runtime"
import { redact, Secrets } from "./Secrets.ts"

interface Described {
  readonly _tag?: string
  readonly message?: string
  readonly errors?: ReadonlyArray<unknown>
}

const describe = (error: unknown): Described =>
  typeof error === "object" && error !== null ? error : { message: String(error) }

/** Prints one line for an expected failure; a broken invariant says so, with its stack, since the user cannot have caused it. */
export const print = Effect.fn("Report.print")(function* (cause: Cause.Cause<unknown>) {
  if (Cause.hasInterruptsOnly(cause)) return
  const secrets = yield* Secrets
  const isVerbose = (yield* References.MinimumLogLevel) === "Debug" || (yield* References.MinimumLogLevel) === "Trace"
  const error = describe(Cause.squash(cause))
  // Usage mistakes are shown by the command line parser's presenter.
  if (error._tag === "ShowHelp") return
  if (Cause.hasFails(cause) && !isVerbose) {
    return yield* Console.error(redact(`atropos: ${error.message || error._tag}`, secrets))
  }
  const heading = Cause.hasFails(cause) ? "atropos:" : "atropos: this should not have happened; please report it:"
  yield* Console.error(redact(`${heading}\n${Cause.pretty(cause)}`, secrets))
})

/** Usage mistakes found by the parser exit with 2; the rest carries its own code. */
export const teardown: Runtime.Teardown = (exit, onExit) => {
  if (Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)) {
    const { _tag, errors = [] } = describe(Cause.squash(exit.cause))
    if (_tag === "ShowHelp") return onExit(errors.length > 0 ? 2 : 0)
  }
  Runtime.defaultTeardown(exit, onExit)
}
