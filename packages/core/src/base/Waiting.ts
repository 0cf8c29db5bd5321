/**
 * Whoever waits says for what: after a moment, then ever more sparsely, so that nothing waits in silence and no log
 * fills with it.
 */
import { Effect, Fiber } from "effect"

const firstMillis = 3_000
const secondMillis = 30_000
const sparsestMillis = 600_000

/** Says it after 3 seconds, 33, 66, 132, … and then every ten minutes; never ends. */
export const reminders = (say: (seconds: number) => Effect.Effect<void>): Effect.Effect<never> =>
  Effect.gen(function* () {
    let waited = 0
    let pause = firstMillis
    for (;;) {
      yield* Effect.sleep(pause)
      waited += pause
      yield* say(waited / 1000)
      pause = Math.min(sparsestMillis, Math.max(secondMillis, waited))
    }
  })

/** An effect that says what it waits for as long as it runs; `say` gets the seconds so far. */
export const telling =
  (say: (seconds: number) => Effect.Effect<void>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(Effect.forkChild(reminders(say)), (telling) => Effect.onExit(effect, () => Fiber.interrupt(telling)))
