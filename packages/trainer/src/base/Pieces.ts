/**
 * Runs long computations in steps: generators that yield at points where the event loop may run. At 24 layers a step of
 * graph building takes up to 30 ms.
 */
import { Effect } from "effect"

export type Pieces<A> = Generator<void, A>

/** Runs without pauses. */
export const run = <A>(pieces: Pieces<A>): A => {
  for (;;) {
    const { done, value } = pieces.next()
    if (done === true) return value
  }
}

/** Lets the event loop run between steps. An exception in a step is a defect. */
export const yielding = <A>(pieces: () => Pieces<A>): Effect.Effect<A> =>
  Effect.suspend(() => {
    const running = pieces()
    const next: Effect.Effect<A> = Effect.suspend(() => {
      const { done, value } = running.next()
      return done === true ? Effect.succeed(value) : Effect.andThen(Effect.yieldNow, next)
    })
    return next
  })
