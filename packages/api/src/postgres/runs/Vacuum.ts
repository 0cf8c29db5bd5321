/**
 * Reclaims the space of removed groups, so that files stop growing once removals match arrivals. The embedded database
 * has no autovacuum. A server's runs once a minute, or never if disabled, and tolerates a fifth of a table as dead
 * rows: a minute's groups would be a minute's growth.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"

export interface Vacuum {
  readonly dropped: (groups: number) => void
  readonly run: Effect.Effect<void, SqlError>
}

/** Every vacuum scans all indexes, so at least this many groups and this share of all must have been removed. */
const leastGroups = 256
const share = 0.05
/** The word index takes tenths of a second, so it is vacuumed rarely. */
const leastTexts = 2048

export const make: Effect.Effect<Vacuum, never, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  let groups = 0
  let texts = 0

  // Skips tables locked by another process or autovacuum.
  const clean = (table: string) => sql.unsafe(`vacuum (skip_locked) ${table}`)

  return {
    dropped: (count) => {
      groups += count
      texts += count
    },
    run: Effect.gen(function* () {
      if (groups <= leastGroups) return
      const [known] = yield* sql<{ rows: number }>`
        select reltuples::float8 as rows from pg_class where oid = 'grp'::regclass`
      const enough = share * (known?.rows ?? 0)
      if (groups <= enough) return
      groups = 0
      for (const table of ["grp", "spent_key", "batch", "queued"]) yield* clean(table)
      if (texts <= Math.max(leastTexts, enough)) return
      texts = 0
      for (const table of ["grp_text", "grp_figure"]) yield* clean(table)
    })
  }
})
