/**
 * Limits the time of an item. If an author's score function was running when it was over, the error names it: a judge
 * that never answers looks like a slow model otherwise. One that runs for long is logged meanwhile.
 */
import { Cause, Context, Effect, Exit } from "effect"
import * as LogThrottle from "../base/LogThrottle.ts"
import * as Waiting from "../base/Waiting.ts"

/** Functions of the item that are running, by name; undefined if its time is not limited. */
const Running = Context.Reference<Map<symbol, string> | undefined>("@atropos/core/definition/ItemTime/Running", {
  defaultValue: () => undefined
})

const slowMillis = 30_000
const slow = LogThrottle.make()

const reportSlow = (name: string) => (seconds: number) =>
  Effect.suspend(() => {
    const times = slow.count(name)
    return LogThrottle.isWorthLogging(times)
      ? Effect.logWarning(`${name} has not ended; a hanging one fails its item after env.worker_timeout`, {
          seconds,
          times
        })
      : Effect.void
  })

/** Runs a score function by its name in the definition. */
export const during =
  (name: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(Running, (running) => {
      const key = Symbol(name)
      running?.set(key, name)
      return effect.pipe(
        Waiting.telling(reportSlow(name), slowMillis),
        // One that the limit interrupts is kept: the error names it.
        Effect.onExit((exit) =>
          Effect.sync(() => {
            if (Exit.isSuccess(exit) || !Cause.hasInterrupts(exit.cause)) running?.delete(key)
          })
        )
      )
    })

/** Fails with a `TimeoutError` after some seconds (0 or less: never), whose message `late` makes of the limit. */
export const within =
  (seconds: number, late: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | Cause.TimeoutError, R> =>
    seconds <= 0
      ? effect
      : Effect.suspend(() => {
          const running = new Map<symbol, string>()
          return Effect.provideService(effect, Running, running).pipe(
            Effect.timeoutOrElse({
              duration: seconds * 1000,
              orElse: () => {
                const names = new Set(running.values())
                return Effect.fail(
                  new Cause.TimeoutError(`${late}${names.size === 0 ? "" : `, in ${[...names].join(", ")}`}`)
                )
              }
            })
          )
        })
