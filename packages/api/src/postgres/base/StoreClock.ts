/**
 * Provides the clock used for leases: the database's, so that all processes agree and adjusting this machine's clock
 * neither ends nor extends a lease. Between reads of the database's clock it advances by monotonic time.
 */
import { Clock, Duration, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"

export interface StoreClock {
  /** Milliseconds since the epoch. */
  readonly now: Effect.Effect<number, SqlError>
}

/** Clocks drift apart by a few milliseconds in this time. */
const maxAgeMillis = Duration.toMillis("10 minutes")

/** A slower answer does not determine the current time. */
const maxAnswerMillis = 1000

/**
 * Max adjustment of the wall clock against monotonic time. Above it the clock was set or the machine slept, during
 * which monotonic time stops.
 */
const maxAdjustmentMillis = 1000

const elapsedMillis = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1000n) / 1000)

interface Known {
  /** The database's time, and this machine's two clocks, at one moment. */
  readonly millis: number
  readonly elapsed: number
  readonly wall: number
}

const isKnown = (known: Known, { elapsed, wall }: Omit<Known, "millis">): boolean => {
  const passed = elapsed - known.elapsed
  return passed >= 0 && passed <= maxAgeMillis && Math.abs(wall - known.wall - passed) <= maxAdjustmentMillis
}

export const make = Effect.gen(function* (): Effect.gen.Return<StoreClock, never, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  let known: Known | undefined
  return {
    now: Effect.gen(function* () {
      const startedAt = yield* elapsedMillis
      if (known !== undefined && isKnown(known, { elapsed: startedAt, wall: yield* Clock.currentTimeMillis })) {
        return known.millis + startedAt - known.elapsed
      }
      const [row] = yield* sql<{ millis: number }>`
        select (extract(epoch from clock_timestamp()) * 1000)::float8 as millis`
      // The statement always returns one row.
      const { millis } = row!
      const elapsed = yield* elapsedMillis
      known =
        elapsed - startedAt <= maxAnswerMillis ? { millis, elapsed, wall: yield* Clock.currentTimeMillis } : undefined
      return millis
    })
  }
})
