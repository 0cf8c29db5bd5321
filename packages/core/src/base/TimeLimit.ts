/**
 * An end to foreign code that runs in this thread and may not come to one: a pattern that backtracks, a template that
 * loops.
 *
 * Costs some 80 microseconds a call. What it interrupts is unwound as by an exception that cannot be caught.
 */
import { type Context, createContext, Script } from "node:vm"
import { Predicate } from "effect"

export class TimeLimitError extends Error {
  override readonly name = "TimeLimitError"
}

const call = new Script("work()")

/** What runs, innermost; one context is for all, as making one takes longer than most of what runs in it. */
let running: (() => void) | undefined
let context: Context | undefined

/** What `work` gives; throws what it throws, or a `TimeLimitError` after so many milliseconds. */
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
  // The script has come to its end, so `work` has.
  return result!.value
}
