/**
 * Interrupts external code that runs in this thread and may not terminate: a pattern that backtracks, a template that
 * loops.
 *
 * Costs about 80 microseconds per call. The interrupted code is unwound as by an uncatchable exception.
 */
import { type Context, createContext, Script } from "node:vm"
import { Predicate } from "effect"

export class TimeLimitError extends Error {
  override readonly name = "TimeLimitError"
}

const call = new Script("work()")

/** The innermost running work; one context is shared, because creating one takes longer than most work. */
let running: (() => void) | undefined
let context: Context | undefined

/** Returns the result of `work`; throws what it throws, or a `TimeLimitError` after `millis`. */
export const run = <A>(millis: number, work: () => A): A => {
  let result: { readonly value: A } | undefined
  context ??= createContext({ work: () => running?.() })
  const outer = running
  running = () => {
    result = { value: work() }
  }
  try {
    call.runInContext(context, { timeout: millis })
  } catch (error) {
    // It is an error of the script's realm, not of ours.
    const isLate = Predicate.hasProperty(error, "code") && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT"
    throw isLate ? new TimeLimitError(`not done within ${millis / 1000} seconds`) : error
  } finally {
    running = outer
  }
  // The script has ended, so `work` has.
  return result!.value
}
