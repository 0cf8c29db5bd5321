/**
 * The time that leases are told by: the database's, so that all who share one agree, and so that a clock of this
 * machine that is set anew neither ends nor prolongs a lease. Between two looks at the database's clock it goes on by
 * elapsed time, which nobody sets.
 */
import { Clock, Duration, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"

export interface StoreClock {
  /** Milliseconds since the epoch. */
  readonly now: Effect.Effect<number, SqlError>
}

/** Clocks of machines drift apart by a few milliseconds in this time. */
const trusted = Duration.toMillis("10 minutes")

/** An answer that took longer says nothing of the time at which it came. */
const longestAnswer = 1000

/**
 * How far this machine's two clocks part by being adjusted. Further, and one was set, or the machine slept, in which no
 * time elapses.
 */
const adjusted = 1000

const elapsedMillis = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1000n) / 1000)

interface Known {
  /** The database's time, and this machine's two, at one moment. */
  readonly millis: number
  readonly elapsed: number
  readonly wall: number
}

const isKnown = (known: Known, { elapsed, wall }: Omit<Known, "millis">): boolean => {
  const passed = elapsed - known.elapsed
  return passed >= 0 && passed <= trusted && Math.abs(wall - known.wall - passed) <= adjusted
}

export const make = Effect.gen(function* (): Effect.gen.Return<StoreClock, never, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  let known: Known | undefined
  return {
    now: Effect.gen(function* () {
      const asked = yield* elapsedMillis
      if (known !== undefined && isKnown(known, { elapsed: asked, wall: yield* Clock.currentTimeMillis })) {
        return known.millis + asked - known.elapsed
      }
      const [row] = yield* sql<{ millis: number }>`
        select (extract(epoch from clock_timestamp()) * 1000)::float8 as millis`
      // A statement with one row.
      const { millis } = row!
      const elapsed = yield* elapsedMillis
      known = elapsed - asked <= longestAnswer ? { millis, elapsed, wall: yield* Clock.currentTimeMillis } : undefined
      return millis
    })
  }
})
