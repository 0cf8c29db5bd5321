/** Waits with log messages, and with time limits. */
import { type Duration, Effect, type Exit, Fiber } from "effect"

const firstMillis = 1_000
const secondMillis = 30_000
const sparsestMillis = 600_000

type Report = (seconds: number) => Effect.Effect<void>

/**
 * Reports after 1 second (or `first` milliseconds), 31, 62, 124, … and then every ten minutes, to limit the log; never
 * ends.
 */
export const reminders = (report: Report, first = firstMillis): Effect.Effect<never> =>
  Effect.gen(function* () {
    let waited = 0
    let pause = first
    for (;;) {
      yield* Effect.sleep(pause)
      waited += pause
      yield* report(waited / 1000)
      pause = Math.min(sparsestMillis, Math.max(secondMillis, waited))
    }
  })

/** Reports what an effect waits for while it runs; `report` gets the seconds so far. `first`: as in `reminders`. */
export const telling =
  (report: Report, first?: number) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(Effect.forkChild(reminders(report, first)), (reporter) =>
      Effect.onExit(effect, () => Fiber.interrupt(reporter))
    )

/** Runs an effect with a time limit, in its own fiber: also in a finalizer, where nothing is interruptible. */
export const within = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  limit: Duration.Input
): Effect.Effect<Exit.Exit<A, E>, never, R> =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(effect)
    const timer = yield* Effect.forkChild(Effect.andThen(Effect.sleep(limit), Fiber.interrupt(fiber)))
    const exit = yield* Fiber.await(fiber)
    yield* Fiber.interrupt(timer)
    return exit
  })
