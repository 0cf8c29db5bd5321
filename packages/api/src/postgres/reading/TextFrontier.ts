/**
 * Tracks the progress of text extraction: all ids up to the frontier are settled. It follows the newest id with a
 * delay, since a lower id may not be committed yet.
 */
import { Clock, Duration, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"

export interface TextFrontier {
  readonly at: () => bigint
  /** Never decreases. */
  readonly advance: (id: bigint) => void
  /** Starts below the oldest group. */
  readonly toOldest: Effect.Effect<void, SqlError>
  /** The newest id, and the id up to which all groups are visible. */
  readonly survey: Effect.Effect<{ readonly last: bigint; readonly settled: bigint }, SqlError>
}

/** A group is visible to all this long after it got its id. */
const settling = Duration.toMillis("15 seconds")

export const make: Effect.Effect<TextFrontier, never, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  let frontier = 0n
  /** Past values of the newest id, oldest first. */
  const newest: Array<{ readonly at: number; readonly id: bigint }> = []

  return {
    at: () => frontier,
    advance: (id) => {
      if (id > frontier) frontier = id
    },
    toOldest: Effect.map(sql<{ id: bigint | null }>`select min(id) as id from grp`, ([row]) => {
      frontier = (row?.id ?? 1n) - 1n
    }),
    survey: Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const [row] = yield* sql<{ newest: bigint | null }>`select max(id) as newest from grp`
      const last = row?.newest ?? 0n
      newest.push({ at: now, id: last })
      while (newest.length > 1 && newest[1]!.at <= now - settling) newest.shift()
      const [oldest] = newest
      return { last, settled: oldest !== undefined && oldest.at <= now - settling ? oldest.id : 0n }
    })
  }
})
