/** Tracks when environments and trainers were last in contact: kept in memory, written to the database periodically. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import * as Rows from "../base/Rows.ts"

export interface LastSeen {
  readonly note: (runId: number, envId: number, at: number) => void
  /** Records that a trainer requested a batch. */
  readonly noteTrainer: (runId: number, at: number) => void
  /** Milliseconds since the epoch; 0 without contact since the last write. */
  readonly of: (runId: number, envId: number) => number
  readonly ofTrainer: (runId: number) => number
  readonly flush: Effect.Effect<void, SqlError>
}

const keyOf = (runId: number, envId: number): string => `${runId}/${envId}`

export const make: Effect.Effect<LastSeen, never, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const entries = new Map<string, { readonly runId: number; readonly envId: number; at: number }>()

  const trainers = new Map<number, number>()

  const writeTrainers = Effect.gen(function* () {
    if (trainers.size === 0) return
    const noted = [...trainers]
    const ids = noted.map(([runId]) => runId)
    const times = noted.map(([, at]) => new Date(at))
    yield* sql`
      update run set trainer_seen = greatest(run.trainer_seen, heard.at)
      from unnest(${Rows.array("int4", ids)}::int[], ${Rows.array("timestamptz", times)}::timestamptz[]) as heard (id, at)
      where run.id = heard.id`
    for (const [runId, at] of noted) if (trainers.get(runId) === at) trainers.delete(runId)
  })

  const writeEnvironments = Effect.gen(function* () {
    if (entries.size === 0) return
    const noted = Array.from(entries.values(), (entry) => ({ ...entry }))
    yield* sql`
      update env set last_seen = greatest(env.last_seen, heard.at)
      from unnest(
        ${Rows.array(
          "int4",
          noted.map(({ runId }) => runId)
        )}::int[],
        ${Rows.array(
          "int4",
          noted.map(({ envId }) => envId)
        )}::int[],
        ${Rows.array(
          "timestamptz",
          noted.map(({ at }) => new Date(at))
        )}::timestamptz[]
      ) as heard (run_id, env_id, at)
      where env.run_id = heard.run_id and env.env_id = heard.env_id`
    // Removed only after the write, so that concurrent readers still find them here.
    for (const { at, envId, runId } of noted) {
      const key = keyOf(runId, envId)
      if (entries.get(key)?.at === at) entries.delete(key)
    }
  })

  return {
    note: (runId, envId, at) => {
      const key = keyOf(runId, envId)
      const entry = entries.get(key)
      if (entry === undefined) entries.set(key, { runId, envId, at })
      else entry.at = at
    },
    noteTrainer: (runId, at) => void trainers.set(runId, at),
    of: (runId, envId) => entries.get(keyOf(runId, envId))?.at ?? 0,
    ofTrainer: (runId) => trainers.get(runId) ?? 0,
    flush: Effect.andThen(writeEnvironments, writeTrainers)
  }
})
