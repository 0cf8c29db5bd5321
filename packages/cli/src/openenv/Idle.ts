/** Ends something after a period without use; every use restarts the timer. */
import { type Duration, Effect, Fiber, type Scope } from "effect"

export interface Idle {
  readonly used: Effect.Effect<void>
  readonly paused: Effect.Effect<void>
}

export const make = (after: Duration.Input, end: Effect.Effect<unknown>, scope: Scope.Scope): Idle => {
  let timer: Fiber.Fiber<unknown> | undefined
  const paused = Effect.suspend(() => {
    const before = timer
    timer = undefined
    return before === undefined ? Effect.void : Fiber.interrupt(before)
  })
  // `end` may pause the timer, which would otherwise wait for itself.
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
