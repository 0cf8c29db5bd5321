/** Ends what nobody uses for a while: every use begins the time anew. */
import { type Duration, Effect, Fiber, type Scope } from "effect"

export interface Idle {
  /** It was used just now. */
  readonly used: Effect.Effect<void>
  /** The time stands still until the next use. */
  readonly paused: Effect.Effect<void>
}

export const make = (after: Duration.Input, end: Effect.Effect<unknown>, scope: Scope.Scope): Idle => {
  let timer: Fiber.Fiber<unknown> | undefined
  const paused = Effect.suspend(() => {
    const before = timer
    timer = undefined
    return before === undefined ? Effect.void : Fiber.interrupt(before)
  })
  // What ends it may ask for a pause, which would wait for itself.
  const ended = Effect.suspend(() => {
    timer = undefined
    return end
  })
  return {
    paused,
    used: Effect.gen(function* () {
      yield* paused
      timer = yield* ended.pipe(Effect.delay(after), Effect.forkIn(scope))
    })
  }
}
