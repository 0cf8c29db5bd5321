/**
 * Calls an author's plain JavaScript functions from an Effect, with a signal that is aborted when the Effect is
 * interrupted.
 *
 * Thrown values and rejections are returned unchanged, and so are unhandled errors (a promise that is not awaited, a
 * timer that throws) and calls of `process.exit`. An unhandled error after the function has ended is logged, the first
 * time and then ever more rarely: it may come from every run. After an interruption everything is ignored.
 */
import { DefinitionFault } from "@atropos/core/definition/EnvironmentError"
import * as LogThrottle from "@atropos/core/base/LogThrottle"
import * as Reason from "@atropos/core/base/Reason"
import * as StackFrames from "@atropos/core/base/StackFrames"
import * as StrayErrors from "@atropos/core/base/StrayErrors"
import { Effect } from "effect"

export type Awaitable<A> = A | PromiseLike<A>

const lateErrors = LogThrottle.make()

/** The function's result; fails with what it throws. */
export const call = <A>(run: (signal: AbortSignal) => Awaitable<A>): Effect.Effect<A, Thrown> =>
  Effect.flatMap(Effect.context(), (context) => {
    let isOver = false
    let isAborted = false
    const late = ({ message }: Thrown): void => {
      const times = lateErrors.count(message)
      if (!LogThrottle.isWorthLogging(times)) return
      Effect.runForkWith(context)(
        Effect.logWarning("unawaited error after the function had ended", { reason: message, times })
      )
    }
    return Effect.tryPromise({
      try: (signal) =>
        new Promise<A>((resolve, reject) => {
          const stray = (cause: unknown): void => {
            const thrown = new Thrown(cause, "threw an unawaited error:")
            if (!isOver) reject(thrown)
            else if (!isAborted) late(thrown)
          }
          signal.addEventListener("abort", () => {
            isAborted = true
          })
          void StrayErrors.owned(stray, () => Promise.resolve(run(signal)).then(resolve, reject))
        }),
      catch: (cause) => (cause instanceof Thrown ? cause : new Thrown(cause))
    }).pipe(
      Effect.ensuring(
        Effect.sync(() => {
          isOver = true
        })
      )
    )
  })

export class Thrown {
  readonly _tag = "Thrown"
  readonly cause: unknown
  readonly how: string
  constructor(cause: unknown, how: string = "threw") {
    this.cause = cause
    this.how = how
  }
  /** The message, with the location in its author's file. */
  get message(): string {
    const { cause, how } = this
    if (cause instanceof StrayErrors.ExitCalled) return placed(cause.message, cause)
    if (!(cause instanceof Error)) return `${how} ${Reason.of(cause)}`
    return placed(`${how} ${cause.name}: ${Reason.whole(cause)}`, cause)
  }
}

const placed = (text: string, { stack = "" }: Error): string => {
  const place = StackFrames.place(stack)
  return place === undefined ? text : `${text} (${place})`
}

/** An error in a part of the definition; retrying would only repeat it. */
export const fault =
  (part: string) =>
  ({ cause, message }: Thrown): DefinitionFault =>
    new DefinitionFault({ part, message: `${part} ${message}`, cause })
