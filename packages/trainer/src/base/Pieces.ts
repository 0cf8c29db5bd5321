/**
 * Long computations in pieces: generators that yield nothing, wherever they may be left for a while. At 24 layers a
 * piece of building a graph takes up to 30 ms.
 */
import { Effect } from "effect"

export type Pieces<A> = Generator<void, A>

/** All at once. */
export const run = <A>(pieces: Pieces<A>): A => {
  for (;;) {
    const { done, value } = pieces.next()
    if (done === true) return value
  }
}

/** The event loop turns between two pieces. What a piece throws is a defect. */
export const yielding = <A>(pieces: () => Pieces<A>): Effect.Effect<A> =>
  Effect.suspend(() => {
    const running = pieces()
    const next: Effect.Effect<A> = Effect.suspend(() => {
      const { done, value } = running.next()
      return done === true ? Effect.succeed(value) : Effect.andThen(Effect.yieldNow, next)
    })
    return next
  })
