/** Resolves a run name for readers: the current run, and ended ones of that name. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { UnknownRun } from "../../store/TrajectoryStore.ts"

export interface RunIds {
  /** Newest first, at least one. */
  readonly ids: ReadonlyArray<number>
  /** Undefined if all have ended. */
  readonly current: number | undefined
  /** The current run, or the last that ended. */
  readonly latest: number
}

export const newestOf = ({ current, latest }: RunIds): RunIds => ({ ids: [latest], current, latest })

export interface RunNames {
  readonly idsOf: (name: string) => Effect.Effect<RunIds, SqlError | UnknownRun>
}

export const make: Effect.Effect<RunNames, never, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return {
    idsOf: Effect.fnUntraced(function* (name: string) {
      const rows = yield* sql<{ id: number; is_current: boolean }>`
        select id, ended_at is null as is_current from run where name = ${name} and deleted_at is null order by id desc`
      const latest = (rows.find(({ is_current }) => is_current) ?? rows[0])?.id
      if (latest === undefined) return yield* new UnknownRun({ run: name })
      return { ids: rows.map(({ id }) => id), current: rows.find(({ is_current }) => is_current)?.id, latest }
    })
  }
})
