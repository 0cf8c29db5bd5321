/**
 * The time that leases are told by: the database's, so that all who share one agree, and so that a clock of this machine that is set
 * anew neither ends nor prolongs a lease. Between two looks at the database's clock it goes on by elapsed time, which nobody sets.
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

const elapsedMillis = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1000n) / 1000)

export const make = Effect.gen(function* (): Effect.gen.Return<StoreClock, never, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  let known: { readonly at: number; readonly millis: number } | undefined
  return {
    now: Effect.gen(function* () {
      const elapsed = yield* elapsedMillis
      if (known === undefined || elapsed - known.at > trusted || elapsed < known.at) {
        const [row] = yield* sql<{ millis: number }>`
          select (extract(epoch from clock_timestamp()) * 1000)::float8 as millis`
        // A statement with one row.
        known = { at: elapsed, millis: row!.millis }
      }
      return known.millis + elapsed - known.at
    })
  }
})
