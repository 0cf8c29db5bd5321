/** Waiting for what may not come: aloud, so that nothing waits in silence, and for a limited time. */
import { type Duration, Effect, type Exit, Fiber } from "effect"

const firstMillis = 3_000
const secondMillis = 30_000
const sparsestMillis = 600_000

/** Reports after 3 seconds, 33, 66, 132, … and then every ten minutes, so that no log fills with it; never ends. */
export const reminders = (report: (seconds: number) => Effect.Effect<void>): Effect.Effect<never> =>
  Effect.gen(function* () {
    let waited = 0
    let pause = firstMillis
    for (;;) {
      yield* Effect.sleep(pause)
      waited += pause
      yield* report(waited / 1000)
      pause = Math.min(sparsestMillis, Math.max(secondMillis, waited))
    }
  })

/** An effect that reports what it waits for as long as it runs; `report` gets the seconds so far. */
export const telling =
  (report: (seconds: number) => Effect.Effect<void>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(Effect.forkChild(reminders(report)), (reporter) =>
      Effect.onExit(effect, () => Fiber.interrupt(reporter))
    )

/** Runs an effect for at most so long, in a fiber of its own: also in a finalizer, where nothing can be interrupted. */
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
