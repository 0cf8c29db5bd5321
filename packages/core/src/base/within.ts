/** A time limit that also holds inside a finalizer, where nothing can be interrupted. */
import { type Duration, Effect, type Exit, Fiber } from "effect"

/**
 * Runs an effect for at most so long in a fiber of its own: also inside a finalizer, which cannot be interrupted
 * itself.
 */
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
