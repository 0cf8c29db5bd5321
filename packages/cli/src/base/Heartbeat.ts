/** Shows that a long operation is running: a line on standard error every five seconds until it ends. */
import { Clock, Console, Effect, Fiber } from "effect"

const everyMillis = 5000

/** `what` names the operation: "loading the model". */
export const during =
  (what: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.gen(function* () {
      const started = yield* Clock.currentTimeMillis
      const beat = Effect.gen(function* () {
        yield* Effect.sleep(everyMillis)
        const seconds = Math.round(((yield* Clock.currentTimeMillis) - started) / 1000)
        yield* Console.error(`${what}: ${seconds} s so far`)
      })
      const beating = yield* Effect.forkChild(Effect.forever(beat))
      return yield* Effect.ensuring(effect, Fiber.interrupt(beating))
    })
