/**
 * How far the texts of groups are: all ids up to the frontier are settled. It follows the newest id at a distance in
 * time: an id below the newest may still be on its way.
 */
import { Clock, Duration, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"

export interface TextFrontier {
  readonly at: () => bigint
  /** Never goes back. */
  readonly advance: (id: bigint) => void
  /** Begins below the oldest group. */
  readonly toOldest: Effect.Effect<void, SqlError>
  /** The newest id, and up to where ids have been seen, if they ever will be. */
  readonly survey: Effect.Effect<{ readonly last: bigint; readonly settled: bigint }, SqlError>
}

/** A group is seen by everybody so long after it got its id. */
const settling = Duration.toMillis("15 seconds")

export const make: Effect.Effect<TextFrontier, never, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  let frontier = 0n
  /** The newest id at times past, oldest first. */
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
