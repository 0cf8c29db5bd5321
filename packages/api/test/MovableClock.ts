/** A clock that a test advances, so that leases expire without waiting. */
import { Clock, Effect } from "effect"

export interface MovableClock {
  readonly clock: Clock.Clock
  /** Advances it, less than ten minutes in all: then the store reads the database's time again. */
  readonly advance: (millis: number) => Effect.Effect<void>
}

export const make: Effect.Effect<MovableClock> = Effect.map(Clock.Clock, (clock) => {
  let ahead = 0
  const millis = () => clock.currentTimeMillisUnsafe() + ahead
  const nanos = (read: () => bigint) => () => read() + BigInt(ahead) * 1_000_000n
  const current = nanos(() => clock.currentTimeNanosUnsafe())
  const monotonic = nanos(() => clock.monotonicTimeNanosUnsafe())
  return {
    // Everything else is the clock's own.
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
