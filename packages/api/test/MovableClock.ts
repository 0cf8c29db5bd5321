/** A clock that a test moves ahead: leases run out without anybody waiting for them. */
import { Clock, Effect } from "effect"

export interface MovableClock {
  readonly clock: Clock.Clock
  /** Moves it ahead, less than ten minutes in all: then the store asks its database for the time again. */
  readonly advance: (millis: number) => Effect.Effect<void>
}

export const make: Effect.Effect<MovableClock> = Effect.map(Clock.Clock, (clock) => {
  let ahead = 0
  const millis = () => clock.currentTimeMillisUnsafe() + ahead
  const nanos = (read: () => bigint) => () => read() + BigInt(ahead) * 1_000_000n
  const current = nanos(() => clock.currentTimeNanosUnsafe())
  const monotonic = nanos(() => clock.monotonicTimeNanosUnsafe())
  return {
    // All the rest is the clock's own.
    clock: Object.create(clock, {
      currentTimeMillisUnsafe: { value: millis },
      currentTimeMillis: { value: Effect.sync(millis) },
      currentTimeNanosUnsafe: { value: current },
      currentTimeNanos: { value: Effect.sync(current) },
      monotonicTimeNanosUnsafe: { value: monotonic },
      monotonicTimeNanos: { value: Effect.sync(monotonic) }
    }) as Clock.Clock,
    advance: (millis) => Effect.sync(() => void (ahead += millis))
  }
})
