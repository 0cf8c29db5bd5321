/**
 * Makes the space of removed groups free for new ones, so that files end growing once as many groups go as come.
 *
 * The embedded database has nobody else to do it. A server's autovacuum comes once a minute, or never where somebody
 * has switched it off, and leaves a fifth of a table to be cleaned up: a minute's groups would be a minute's growth.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"

export interface Vacuum {
  /** So many groups were removed by this process. */
  readonly dropped: (groups: number) => void
  /** Cleans up where enough was removed to be worth it. */
  readonly run: Effect.Effect<void, SqlError>
}

/** Every index is walked through, however little went: so many groups at least, and this share of all there are. */
const leastGroups = 256
const share = 0.05
/** The index of words takes a tenth of a second or two: seldom. */
const leastTexts = 2048

export const make: Effect.Effect<Vacuum, never, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  let groups = 0
  let texts = 0

  // Another process, or autovacuum, may be at it.
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
